/**
 * GET one at 1, 2 and 3 replicas on one etcd. Everything shares this machine's processors, the clients
 * too, so reads a second say little where there are few of them; reads a second of a replica's own
 * processor time are what scales.
 */
import { secretName } from '../corpus.ts';
import { API, type DaemonProcess } from '../daemon-process.ts';
import { sum } from '../etcd-process.ts';
import type { Fixture } from '../fixture.ts';
import { requestBytes } from '../http-connection.ts';
import { throughput } from '../load.ts';
import { withReplicas } from '../replica-processes.ts';
import type { Line } from '../report.ts';
import { type Summary, summarize } from '../statistics.ts';

const CONNECTIONS = 48;
const WARM_UP_MS = 1500;
const MEASURED_MS = 2500;
const MOST = 3;

/** A read without a version shows everything that was acknowledged before; one with 0 what is there. */
const SORTS = [
  { name: 'consistent', query: '' },
  { name: 'resourceVersion=0', query: '?resourceVersion=0' },
] as const;

interface Rate {
  /** Answers a second of all of them. */
  readonly rate: Summary;
  /** Answers for a second of their processor time. */
  readonly perProcessor: Summary | undefined;
}

export async function measureReplicasRead(fixture: Fixture): Promise<Line[]> {
  const alone = await fixture.start(await fixture.copyOfPlatform());
  const embedded = await ratesOf(fixture, [alone], '');
  await alone.stop();
  return await withReplicas(fixture, 1, async (set) => {
    const lines: Line[] = [];
    await set.start(await fixture.copyOfPlatform());
    for (let count = 1; count <= MOST; count++) {
      if (count > 1) await set.start();
      for (const { name, query } of SORTS) {
        const measured = await ratesOf(fixture, set.running, query);
        lines.push(
          ...linesOf(`${count} replica${count > 1 ? 's' : ''}, ${name}`, measured, embedded),
        );
      }
    }
    return lines;
  });
}

function linesOf(name: string, { rate, perProcessor }: Rate, embedded: Rate): Line[] {
  const reference = { name: 'embedded', measured: embedded.rate };
  const lines: Line[] = [{ name: `GET one, ${name}`, unit: '/s', measured: rate, reference }];
  if (perProcessor !== undefined && embedded.perProcessor !== undefined) {
    lines.push({
      name: "reads a second of replicas' processor time",
      unit: '/s',
      measured: perProcessor,
      reference: { name: 'embedded', measured: embedded.perProcessor },
    });
  }
  return lines;
}

async function ratesOf(
  fixture: Fixture,
  daemons: readonly DaemonProcess[],
  query: string,
): Promise<Rate> {
  await load(fixture, { daemons, query, ms: WARM_UP_MS });
  const rates: number[] = [];
  const perProcessor: number[] = [];
  for (let i = 0; i < fixture.repetitions; i++) {
    const before = sum(daemons.map((one) => one.processorMs()));
    const rate = await load(fixture, { daemons, query, ms: MEASURED_MS });
    const after = sum(daemons.map((one) => one.processorMs()));
    rates.push(rate);
    if (before === undefined || after === undefined) continue;
    perProcessor.push((rate * MEASURED_MS) / (after - before));
  }
  return {
    rate: summarize(rates),
    perProcessor: perProcessor.length === 0 ? undefined : summarize(perProcessor),
  };
}

/** Answers a second, of all. */
async function load(
  { corpus }: Fixture,
  of: { daemons: readonly DaemonProcess[]; query: string; ms: number },
): Promise<number> {
  const rates = await Promise.all(
    of.daemons.map((daemon) => {
      const path = `${API}/namespaces/${corpus.namespaceOf(0)}/sharedsecrets/${secretName(0)}`;
      const request = requestBytes({ method: 'GET', path: path + of.query, token: daemon.token });
      return throughput({
        endpoint: daemon.http,
        connections: CONNECTIONS / of.daemons.length,
        ms: of.ms,
        status: 200,
        next: () => request,
      });
    }),
  );
  return rates.reduce((all, one) => all + one, 0);
}
