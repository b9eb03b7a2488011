/**
 * A process that writes to a repository until it is killed. It prints `begin <id>` before it
 * publishes a commit and `done <id>` once that is acknowledged. Arguments: the repository, a name.
 */
import { writeSync } from 'node:fs';
import { openRepository } from '../../src/git/open-repository.ts';
import { HeadMovedError } from '../../src/git/repository.ts';

const [gitDir = '', name = ''] = process.argv.slice(2);
const writer = { name, email: `${name}@example.com` };
const repository = await openRepository({ gitDir, branch: 'main', packThreshold: 20 });

for (let count = 0; ; ) {
  const batch = repository.begin(await repository.head());
  for (let i = 0; i < 3; i++) {
    await batch.add({
      changes: [
        { path: `${name}/${count % 10}/${i}`, content: Buffer.from(`${process.pid} ${count}`) },
        { path: `${name}/count`, content: Buffer.from(`${process.pid} ${count}.${i}`) },
      ],
      author: writer,
      committer: writer,
      time: 1_700_000_000 + count,
      message: `write ${count}.${i} of ${process.pid}`,
    });
  }
  writeSync(1, `begin ${batch.tip}\n`);
  try {
    await batch.publish();
    writeSync(1, `done ${batch.tip}\n`);
    count += 1;
  } catch (error) {
    if (!(error instanceof HeadMovedError)) throw error;
  }
}
