// Which of several tabs does what only one is to do.

/** Waits until no other tab of this browser has its turn. Where the browser cannot tell tabs apart, each has its own. */
export class Turn {
  #name;
  #locks;
  #end = null;
  #isMine = false;

  /** @param {string} name @param {LockManager | undefined} locks */
  constructor(name, locks) {
    this.#name = name;
    this.#locks = locks;
  }

  /**
   * Calls `begin` as soon as it is this tab's turn, at once if it is already. A tab that waits already keeps waiting.
   *
   * @param {() => void} begin
   */
  take(begin) {
    if (this.#isMine || !this.#locks) return begin();
    if (this.#end) return;
    const over = new Promise((resolve) => (this.#end = resolve));
    const end = this.#end;
    this.#locks.request(this.#name, () => {
      // It may have been given up meanwhile, and asked for again.
      if (this.#end !== end) return undefined;
      this.#isMine = true;
      begin();
      return over;
    });
  }

  /** Lets the next tab have its turn. */
  give() {
    this.#end?.();
    this.#end = null;
    this.#isMine = false;
  }
}
