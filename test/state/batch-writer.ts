/**
 * A program for crash tests: writes one batch after another into an LMDB directory, prints the
 * number of each once it is durable, and ends when one cannot be written.
 * Arguments: the directory; bytes of the value `filler`.
 */
import { openLmdbEngine } from '../../src/state/engines/lmdb-engine.ts';

async function main([directory = '', bytes = '0']: string[]): Promise<void> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const engine = await openLmdbEngine(directory, { onError: () => say('reported') });
  for (let i = 0; ; i++) {
    const value = Buffer.from(String(i));
    const filler = { key: `filler-${i}`, value: Buffer.alloc(Number(bytes)) };
    engine.write([{ key: 'a', value }, filler, { key: 'b', value }]);
    try {
      await engine.flush();
    } catch (error) {
      say(`${(error as Error).name}: ${(error as Error).message}`);
      engine.write([{ key: 'later', value }]);
      await engine.close().catch(() => say('close rejected'));
      return;
    }
    say(String(i));
  }
}

await main(process.argv.slice(2));
