/** What befalls the process of a replica. */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { away, type Fault, type FaultScene } from './fault.ts';

async function killAndStart(at: FaultScene, emptied: boolean): Promise<void> {
  await away(at, async () => {
    await at.victim.stop('SIGKILL');
    at.struck();
    await sleep(at.milliseconds);
    if (emptied) rmSync(at.victim.dataDir, { recursive: true, force: true });
    await at.victim.start();
  });
}

export const kill: Fault = {
  name: 'kill -9',
  endsTerm: true,
  run: (at) => killAndStart(at, false),
};

export const lostDisk: Fault = {
  name: 'kill -9 with a lost disk',
  endsTerm: true,
  run: (at) => killAndStart(at, true),
};

export const pause: Fault = {
  name: 'SIGSTOP',
  endsTerm: true,
  run: (at) =>
    away(at, async () => {
      at.victim.pause();
      at.struck();
      await sleep(at.milliseconds);
      at.victim.resume();
    }),
};

export const restart: Fault = {
  name: 'SIGTERM, then start',
  endsTerm: true,
  run: (at) =>
    away(at, async () => {
      at.struck();
      const code = await at.victim.stop();
      if (code !== 0) at.scene.violation(`${at.victim.name} ended with ${code} after SIGTERM`);
      await at.victim.start();
    }),
};

export const clockJump: Fault = {
  name: 'clock of a replica jumps',
  run: async (at) => {
    const hours = 1 + at.random.below(24);
    at.victim.setClock((at.random.chance(0.5) ? 1 : -1) * hours * 3_600_000);
    await sleep(at.milliseconds);
    at.victim.setClock(0);
  },
};
