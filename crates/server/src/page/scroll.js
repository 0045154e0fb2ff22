// The end of the conversation stays in sight for a reader who is there, and for nobody else.

// So near to the end counts as there, in pixels.
const NEAR = 60;

export class Scroll {
  #box = document.getElementById('scroll');
  #button = document.getElementById('to-end');
  #isAtEnd = true;

  constructor() {
    this.#box.addEventListener('scroll', () => this.#look(), { passive: true });
    this.#button.addEventListener('click', () => this.toEnd());
    // A window or a field that changes its size moves the end.
    new ResizeObserver(() => this.follow()).observe(this.#box);
  }

  /** The text became longer. */
  follow() {
    if (this.#isAtEnd) this.toEnd();
    else this.#show();
  }

  toEnd() {
    this.#isAtEnd = true;
    this.#box.scrollTop = this.#box.scrollHeight;
    this.#show();
  }

  #look() {
    this.#isAtEnd = this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight < NEAR;
    this.#show();
  }

  #show() {
    this.#button.hidden = this.#isAtEnd;
  }
}
