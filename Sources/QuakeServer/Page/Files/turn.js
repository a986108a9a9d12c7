// Decides which of several tabs performs a task that only one of them should perform.

/** The turn, which only one tab of this browser has at a time. If the browser has no locks, every tab has its turn at once. */
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
   * Calls `begin` when this tab gets its turn, or at once if the tab already has it. Does nothing if the tab is already waiting.
   *
   * @param {() => void} begin
   */
  take(begin) {
    if (this.#isMine || !this.#locks) return begin();
    if (this.#end) return;
    const over = new Promise((resolve) => (this.#end = resolve));
    const end = this.#end;
    this.#locks.request(this.#name, () => {
      // In the meantime, the tab may have given up this request for the lock, and made another one.
      if (this.#end !== end) return undefined;
      this.#isMine = true;
      begin();
      return over;
    });
  }

  /** Gives up the turn, or the wait for it, so that the next tab has its turn. */
  give() {
    this.#end?.();
    this.#end = null;
    this.#isMine = false;
  }
}
