/** Runs the bundle of a thread for `bundle.mjs`, and keeps what V8 compiled meanwhile. */
import { writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { bundleScript, cacheOf, runBundle } from './load-bundle.mjs';

const { bundle } = workerData;
const script = bundleScript(bundle);
runBundle(script, bundle);
parentPort.on('message', (message) => {
  if (message !== 'cache') return;
  writeFileSync(cacheOf(bundle), script.createCachedData());
  process.exit();
});
