/**
 * Loaded before the daemon: its wall clock is off by the milliseconds in the file that
 * GITPLANE_TEST_CLOCK names, which is read again and again. The monotonic clock is left alone, as a
 * step of the system's clock leaves it.
 */
import { readFileSync } from 'node:fs';

const file = process.env.GITPLANE_TEST_CLOCK;
const READ_EVERY_MS = 50;

if (file !== undefined) {
  const RealDate = Date;
  const now = RealDate.now.bind(RealDate);
  let offset = 0;
  let readAt = Number.NEGATIVE_INFINITY;

  const shifted = () => {
    const at = performance.now();
    if (at - readAt > READ_EVERY_MS) {
      readAt = at;
      try {
        offset = Number(readFileSync(file, 'utf8')) || 0;
      } catch {
        // Between two versions of the file: as it was.
      }
    }
    return now() + offset;
  };

  class ShiftedDate extends RealDate {
    constructor(...args) {
      if (args.length === 0) super(shifted());
      else super(...args);
    }

    static now() {
      return shifted();
    }
  }
  Object.defineProperty(globalThis, 'Date', { value: ShiftedDate, writable: true });
}
