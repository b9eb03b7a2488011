import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * Starts a worker thread. `source` is the URL of its TypeScript file. The built program starts the
 * JavaScript file beside it; during development tsx compiles the source in the thread.
 */
export function startWorker(source: URL, options: WorkerOptions = {}): Worker {
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL(source.href.replace(/\.ts$/, '.js')), options);
  }
  const program = `import('tsx/esm/api').then(({ register }) => (register(), import('${source.href}')));`;
  return new Worker(program, { ...options, eval: true });
}
