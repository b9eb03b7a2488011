/**
 * Loaded before the daemon: a silent HTTP/2 connection is asked after 3 s in place of 30, and ended as long
 * after that. Only connections whose errors make Node read no more wait for it, and tests wait for them.
 */
const SILENT_MS = 30_000;
const SHORT_MS = 3000;
const plain = globalThis.setInterval;

globalThis.setInterval = (run, ms, ...more) =>
  plain(run, ms === SILENT_MS ? SHORT_MS : ms, ...more);
