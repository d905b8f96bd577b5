// Throttle has work done that may be asked for at any moment: never twice at once, and not without a pause in between.
export class Throttle {
  private running = false;
  private again = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  // notBefore is when the pause after the last time ends.
  private notBefore = 0;

  // least and most bound the pause in milliseconds. Between them it is so long that the work takes a fifth of the time.
  constructor(
    private readonly work: () => Promise<void>,
    private readonly least = 400,
    private readonly most = 5_000,
  ) {}

  // soon has the work done after a pause. Asked for while it is being done, it is done once more.
  soon = (): void => {
    if (this.running) this.again = true;
    else this.timer ??= setTimeout(() => void this.now(), Math.max(this.least, this.notBefore - Date.now()));
  };

  // now has it done at once, unless it is being done.
  async now(): Promise<void> {
    if (this.running) return;
    this.end();
    this.running = true;
    const begin = Date.now();
    try {
      await this.work();
    } finally {
      this.running = false;
      this.notBefore = Date.now() + Math.min(this.most, 4 * (Date.now() - begin));
    }
    const { again } = this;
    this.again = false;
    if (again) this.soon();
  }

  // end forgets what was asked for and has not begun.
  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.again = false;
  }
}
