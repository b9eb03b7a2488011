/** A question on a terminal, on standard error so that results stay alone on standard output. */
import { createInterface } from 'node:readline/promises';

export async function confirmed(stdin: NodeJS.ReadableStream, question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
