"""The audit log can only be added to: the database refuses to change or remove what it says.

On PostgreSQL the owner of the table loses the permission, and a trigger stops whoever needs none (a superuser); on
SQLite there are triggers.

Revision ID: 0004_audit_append_only
Revises: 0003_masked_tokens
"""

from alembic import op

revision = "0004_audit_append_only"
down_revision = "0003_masked_tokens"
branch_labels = None
depends_on = None

REFUSAL = "the audit log is append-only"


def on_postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def upgrade() -> None:
    if not on_postgresql():
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_event_no_{verb.lower()} BEFORE {verb} ON audit_event "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            )
        return
    op.execute("SET LOCAL lock_timeout = '10s'")
    op.execute(
        "CREATE FUNCTION audit_event_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'insufficient_privilege'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_event "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_event_refuse()"
    )
    op.execute("REVOKE UPDATE, DELETE, TRUNCATE ON audit_event FROM CURRENT_USER")


def downgrade() -> None:
    if not on_postgresql():
        for verb in ("update", "delete"):
            op.execute(f"DROP TRIGGER audit_event_no_{verb}")
        return
    op.execute("GRANT UPDATE, DELETE, TRUNCATE ON audit_event TO CURRENT_USER")
    op.execute("DROP TRIGGER audit_event_append_only ON audit_event")
    op.execute("DROP FUNCTION audit_event_refuse()")
