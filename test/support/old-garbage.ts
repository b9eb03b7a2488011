import { setTimeout } from 'node:timers/promises';

/** An object that has grown old: V8 removes it only when it collects everything. Young ones go by themselves soon. */
export async function oldGarbage(): Promise<WeakRef<object>> {
  let kept: object | undefined = { nobody: 'needs this' };
  const ref = new WeakRef(kept);
  for (let i = 0; i < 3; i++) {
    Array.from({ length: 400_000 }, (_, n) => ({ n }));
    await setTimeout(1);
  }
  kept = undefined;
  return ref;
}
