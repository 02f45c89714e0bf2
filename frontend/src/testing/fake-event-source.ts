/** jsdom has no EventSource; this one does what the test says. */
export class FakeEventSource extends EventTarget {
  static opened: FakeEventSource[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    super();
    FakeEventSource.opened.push(this);
  }

  /** The one that was opened last. */
  static latest(): FakeEventSource {
    const source = FakeEventSource.opened.at(-1);
    if (source === undefined) throw new Error("no EventSource was opened");
    return source;
  }

  close() {
    this.closed = true;
  }

  say(name: string, data: string) {
    this.dispatchEvent(new MessageEvent(name, { data }));
  }
}
