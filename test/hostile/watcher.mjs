/**
 * Watches a daemon from a process of its own: how long /livez takes, the memory of the daemon, and
 * the private memory of each process that it starts. Arguments: process id, URL, CA. Prints JSON when
 * its standard input ends.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';

const [daemon = '', url = '', ca = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, ca: readFileSync(ca) });
const latencies = [];
const peaks = { first: 0, daemon: 0, child: 0, command: '' };
let isOver = false;

function status(pid) {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kib = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { parent: String(kib('PPid')), data: kib('VmData'), rss: kib('VmRSS') };
}

function sample() {
  const all = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      all.set(pid, status(pid));
    } catch {
      // It ended meanwhile.
    }
  }
  const isBelow = (pid) => pid === daemon || (all.has(pid) && isBelow(all.get(pid).parent));
  for (const [pid, { parent, data, rss }] of all) {
    if (pid === daemon) {
      peaks.first ||= rss;
      peaks.daemon = Math.max(peaks.daemon, rss);
    } else if (isBelow(parent) && data > peaks.child) {
      peaks.child = data;
      try {
        peaks.command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
      } catch {
        // It ended meanwhile.
      }
    }
  }
}

function probe() {
  const started = performance.now();
  const request = get(`${url}/livez`, { agent }, (response) => {
    response.resume();
    response.on('end', () => {
      latencies.push(performance.now() - started);
      if (!isOver) setTimeout(probe, 20);
    });
  });
  request.on('error', () => {
    latencies.push(Number.POSITIVE_INFINITY);
    if (!isOver) setTimeout(probe, 20);
  });
}

sample();
const timer = setInterval(sample, 100);
probe();
process.stdin.resume();
process.stdin.on('end', () => {
  isOver = true;
  clearInterval(timer);
  latencies.sort((one, other) => one - other);
  const at = (share) => Math.round(latencies[Math.floor((latencies.length - 1) * share)] ?? -1);
  process.stdout.write(
    JSON.stringify({
      probes: latencies.length,
      p50: at(0.5),
      p99: at(0.99),
      max: at(1),
      grownMib: Math.round((peaks.daemon - peaks.first) / 1024),
      childMib: Math.round(peaks.child / 1024),
      child: peaks.command.slice(0, 200),
    }),
    () => process.exit(0),
  );
});
