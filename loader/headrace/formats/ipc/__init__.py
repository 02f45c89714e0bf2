"""Reading Arrow IPC files and streams without pyarrow: only what a token column needs, many record batches at a time.

In the order data flows: `flatbuffer` (the encoding of Arrow's metadata), `schema` (where the token column is),
`messages` (where the record batches are), `batches` (where the column's buffers are in each), `documents` (where each
row's tokens are). pyarrow makes a Python object a batch and a buffer, tens of microseconds each; here a block of
thousands of one-document batches costs a few array operations. The layouts are those of
https://arrow.apache.org/docs/format/Columnar.html, metadata V4 and V5.
"""
