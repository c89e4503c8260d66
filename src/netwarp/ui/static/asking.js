// Asks the server to run what an address says; events come as they happen, and a new question ends the old one.

const TAB = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => (byte % 36).toString(36)).join("");

export class Asking {
  /** side: a letter that names one of the page's lanes; path and events: what is asked, and what comes of it. */
  constructor(side, path = "ask", events = ["started", "progress", "answer", "refused", "failed", "done"]) {
    this.path = path;
    this.events = events;
    this.lane = TAB + side;
    this.source = null;
    this.turn = 0;
  }

  /** Begin; `on` has a function for each event: started, progress, answer, refused, failed, done. */
  ask(pairs, on) {
    this.stop();
    const query = new URLSearchParams(pairs);
    query.set("lane", this.lane);
    // Requests may arrive in another order than they are sent: the last one is what counts.
    this.turn += 1;
    query.set("turn", this.turn);
    const source = new EventSource(`${this.path}?${query}`);
    this.source = source;
    const begun = performance.now();
    for (const name of this.events) {
      source.addEventListener(name, (event) => {
        if (this.source !== source) return;
        if (name === "done") this.stop();
        on[name]?.(JSON.parse(event.data), performance.now() - begun);
      });
    }
    // The browser would ask again by itself; but then runs that somebody has stopped would begin anew.
    source.addEventListener("error", () => {
      if (this.source !== source) return;
      this.stop();
      on.failed?.({ message: "netwarp ui does not answer any more: start it again, and open the address that it prints." });
      on.done?.({});
    });
  }

  stop() {
    this.source?.close();
    this.source = null;
  }
}
