/** What is offered for running the daemon elsewhere: manifests, a chart, a file for compose. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { COMMAND_TABLE } from '../../src/options/command-table.ts';
import { variableOf } from '../../src/options/option-spec.ts';
import { SERVE_OPTIONS } from '../../src/options/serve-options.ts';
import { run } from '../support/daemon.ts';
import { findProgram } from '../support/programs.ts';
import { schemaProblems } from './kubernetes-schema.ts';
import { ROOT } from './markdown.ts';

const CHART = join(ROOT, 'examples/helm/gitplane');

// biome-ignore lint/suspicious/noExplicitAny: manifests of every shape
type Manifest = any;

function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text, { strict: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

function read(...path: string[]): string {
  return readFileSync(join(ROOT, ...path), 'utf8');
}

const files = ['examples/kubernetes', 'examples/monitoring'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => `${folder}/${name}`),
);

describe('manifests', () => {
  test.each(files)('%s has fields that there are, of their types', (file) => {
    expect(manifestsIn(read(file)).flatMap(schemaProblems)).toEqual([]);
  });

  test('a mistake is found', () => {
    const wrong = { apiVersion: 'v1', kind: 'Service', spec: { port: 1, ports: [{ port: 'x' }] } };
    expect(schemaProblems(wrong)).toEqual([
      'Service.spec.port is unknown',
      'Service.spec.ports[0].port is not a number',
    ]);
  });
});

describe('examples/kubernetes/replicas.yaml', () => {
  const manifests = manifestsIn(read('examples/kubernetes/replicas.yaml'));
  const only = (kind: string, name = 'gitplane'): Manifest =>
    manifests.find((one) => one.kind === kind && one.metadata.name === name);
  const set = only('StatefulSet').spec;
  const [container] = set.template.spec.containers;
  const env = Object.fromEntries(
    container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
  );

  test('replicas find each other by the names of their own service', () => {
    expect(set.serviceName).toBe('gitplane-peers');
    const peers = only('Service', 'gitplane-peers').spec;
    expect(peers).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
    const port = container.ports.find(({ name }: { name: string }) => name === 'peer');
    expect(env['GITPLANE_ADVERTISE_PEER']).toBe(
      `$(POD_NAME).gitplane-peers.gitplane.svc:${port.containerPort}`,
    );
    expect(env['GITPLANE_LISTEN_PEER']).toBe(`0.0.0.0:${port.containerPort}`);
    // A variable is replaced in those that come after it.
    expect(container.env[0].name).toBe('POD_NAME');
  });

  test('selectors find the pods, and one at most is taken away at a time', () => {
    const labels = set.template.metadata.labels;
    expect(set.selector.matchLabels).toEqual(labels);
    for (const name of ['gitplane', 'gitplane-peers']) {
      expect(only('Service', name).spec.selector).toEqual(labels);
    }
    expect(only('NetworkPolicy').spec.podSelector.matchLabels).toEqual(labels);
    const budget = only('PodDisruptionBudget').spec;
    expect(budget).toEqual({ maxUnavailable: 1, selector: { matchLabels: labels } });
    expect(set.replicas).toBe(3);
  });

  test('every replica has a disk of its own, and the secrets that it names', () => {
    const claims = set.volumeClaimTemplates.map((one: Manifest) => one.metadata.name);
    const volumes = set.template.spec.volumes.map((one: Manifest) => one.name);
    const mounts = container.volumeMounts as { name: string; mountPath: string }[];
    expect(mounts.map(({ name }) => name).sort()).toEqual([...claims, ...volumes].sort());
    for (const name of ['STATE_KEY', 'ETCD_CA', 'ETCD_CERT', 'ETCD_KEY', 'DATA_DIR']) {
      const path = String(env[`GITPLANE_${name}`]);
      expect(
        mounts.some(({ mountPath }) => path.startsWith(`${mountPath}/`)),
        path,
      ).toBe(true);
    }
  });
});

describe('examples/docker-compose.yaml', () => {
  const compose = parse(read('examples/docker-compose.yaml'), { merge: true });
  const names = Object.keys(compose.services);

  test('three replicas, three members of etcd and a proxy, each with what it names', () => {
    expect(names.sort()).toEqual(['etcd1', 'etcd2', 'etcd3', 'proxy', 'r1', 'r2', 'r3']);
    for (const [name, service] of Object.entries<Manifest>(compose.services)) {
      for (const other of service.depends_on ?? []) expect(names).toContain(other);
      for (const volume of service.volumes ?? []) {
        expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
      }
      if (!name.startsWith('r')) continue;
      expect(service.environment['GITPLANE_ADVERTISE_PEER']).toBe(`${name}:8444`);
      expect(compose.configs.haproxy.content).toContain(`server ${name} ${name}:8443`);
    }
  });

  test.each(['etcd1', 'etcd2', 'etcd3'])('%s names its publisher', (name) => {
    const { command } = compose.services[name];
    expect(command).toContain(`--name=${name}`);
    expect(command).toContain(`--initial-advertise-peer-urls=http://${name}:2380`);
    expect(command).toContain(`--advertise-client-urls=http://${name}:2379`);
  });
});

const helm = findProgram('helm');

describe.skipIf(!helm)(`the chart${helm ? '' : ' (SKIPPED: helm is missing)'}`, () => {
  const ETCD = ['--set', 'etcd.endpoints={a:2379,b:2379,c:2379}'];

  test.each([
    ['on etcd', ETCD],
    [
      'on etcd with TLS and metrics',
      [...ETCD, '--set', 'etcd.tlsSecret=e,serviceMonitor.enabled=true'],
    ],
    ['alone', ['--set', 'replicas=1']],
    [
      'that follows a forge, with files and an ingress',
      [
        ...ETCD,
        ...['--set', 'tls.secret=t,repo.url=ssh://git@forge.example.com/platform.git'],
        ...['--set', 'repo.sshSecret=s,repo.tokenSecret=k,repo.caSecret=c,repo.hookSecret=h'],
        ...['--set', 'signers.configMap=g,ageKeys.secret=a,credentials.secret=x'],
        ...['--set', 'ingress.enabled=true,ingress.host=p.example.com,ingress.tlsSecret=i'],
        ...['--set', 'ingress.className=nginx,service.type=LoadBalancer,repo.path=platform'],
        ...['--set', 'tolerations[0].key=k,tolerations[0].operator=Exists,nodeSelector.disk=ssd'],
        ...['--set', 'extraVolumes[0].name=v,extraVolumes[0].emptyDir.medium=Memory'],
        ...['--set', 'extraVolumeMounts[0].name=v,extraVolumeMounts[0].mountPath=/v'],
        ...['--set', 'image.pullSecrets[0].name=r,podLabels.a=b,podAnnotations.c=d'],
        ...['--set', 'networkPolicy.extraEgress[0].ports[0].port=5432'],
      ],
    ],
    ['with little', [...ETCD, '--set', 'networkPolicy.enabled=false,env.GITPLANE_LOG_LEVEL=debug']],
  ])('%s renders to what an API server takes', async (_name, args) => {
    const { code, stdout, stderr } = await render(args);
    expect(code, stderr).toBe(0);
    expect(manifestsIn(stdout).flatMap(schemaProblems)).toEqual([]);
    expect(unknownVariables(stdout)).toEqual([]);
  });

  test('lints without a warning', async () => {
    const { code, stdout, stderr } = await run(helm ?? '', ['lint', CHART, '--set', 'replicas=1']);
    expect([code, stdout + stderr]).toEqual([0, expect.not.stringMatching(/WARNING|ERROR/)]);
  });

  test('the network policy lets forge, providers, stores and tenants through, and no metadata service', async () => {
    const { stdout } = await render(['--set', 'replicas=1']);
    const policy = manifestsIn(stdout).find(({ kind }) => kind === 'NetworkPolicy');
    const outside = policy.spec.egress.find(({ to = [] }: Manifest) => to[0]?.ipBlock);
    expect(outside.to[0].ipBlock).toEqual({ cidr: '0.0.0.0/0', except: ['169.254.169.254/32'] });
    expect(outside.ports.map(({ port }: Manifest) => port)).toEqual([443, 22, 6443, 8200]);
    const closed = await render(['--set', 'replicas=1,networkPolicy.outbound.ports=null']);
    const rules = manifestsIn(closed.stdout).find(({ kind }) => kind === 'NetworkPolicy').spec
      .egress;
    expect(rules.some(({ to = [] }: Manifest) => to[0]?.ipBlock)).toBe(false);
  });

  test('every file that a variable names is mounted', async () => {
    const { stdout } = await render([
      ...ETCD,
      ...['--set', 'tls.secret=t,repo.sshSecret=s,repo.tokenSecret=k,signers.configMap=g'],
    ]);
    const set = manifestsIn(stdout).find(({ kind }) => kind === 'StatefulSet');
    const [container] = set.spec.template.spec.containers;
    const mounts: string[] = container.volumeMounts.map(({ mountPath }: Manifest) => mountPath);
    const files: string[] = container.env
      .map(({ value }: Manifest) => String(value))
      .filter((value: string) => value.startsWith('/etc/'));
    expect(files).toHaveLength(7);
    for (const file of files) expect(mounts.some((path) => file.startsWith(`${path}/`))).toBe(true);
  });

  test('replicas without etcd are refused', async () => {
    const { code, stderr } = await render([]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('needs etcd')]);
  });

  function render(args: readonly string[]) {
    return run(helm ?? '', ['template', 'platform', CHART, '--namespace', 'plat', ...args]);
  }
});

test('every image that the Dockerfile begins with is pinned by its digest', () => {
  const lines = read('Dockerfile').split('\n');
  const values = lines.flatMap((line) => /^ARG (\w+)=(\S+)$/.exec(line)?.slice(1, 3) ?? []);
  const given = new Map(values.flatMap((name, i) => (i % 2 === 0 ? [[name, values[i + 1]]] : [])));
  const stages = lines.flatMap((line) => /^FROM .* AS (\S+)$/i.exec(line)?.[1] ?? []);
  const images = lines
    .flatMap((line) => /^(?:FROM|COPY --from=)\s*(\S+)/i.exec(line)?.[1] ?? [])
    .map((image) => image.replace(/^\$\{(\w+)\}$/, (_, name: string) => given.get(name) ?? ''))
    .filter((image) => !stages.includes(image));
  expect(images).toHaveLength(2);
  for (const image of images) expect(image).toMatch(/^node:20\.\d+\.\d+-\S+@sha256:[0-9a-f]{64}$/);
  // A frontend by its tag would be code that nobody pinned.
  expect(lines.filter((line) => /^#\s*syntax=/i.test(line))).toEqual([]);
});

test.each(['git', 'gpg', 'openssh-client', 'ca-certificates'])('the image has %s', (name) => {
  const [, installed = ''] =
    /apt-get install [^\n]*--no-install-recommends ([^\\\n]+)/.exec(read('Dockerfile')) ?? [];
  expect(installed.trim().split(' ')).toContain(name);
});

test('the image asks whether the daemon lives, which it answers from its first second', () => {
  const [, url = ''] = /HEALTHCHECK[^\0]*?(https:[^"]+)/.exec(read('Dockerfile')) ?? [];
  expect(new URL(url).pathname).toBe('/livez');
});

const analyze = findProgram('systemd-analyze');

describe.skipIf(!analyze)(
  `the unit${analyze ? '' : ' (SKIPPED: systemd-analyze is missing)'}`,
  () => {
    const unit = join(ROOT, 'examples/systemd/gitplane.service');

    test('has settings that systemd knows', async () => {
      const { code, stdout, stderr } = await run(analyze ?? '', ['verify', unit]);
      expect([code, stdout, stderr]).toEqual([0, '', '']);
    });

    test('is exposed little', async () => {
      const args = ['security', '--offline=true', '--threshold=20', '--no-pager', unit];
      const { code, stdout, stderr } = await run(analyze ?? '', args);
      expect(code, stdout + stderr).toBe(0);
    });
  },
);

describe('variables and flags', () => {
  const pages = readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  const examples = readdirSync(join(ROOT, 'examples'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ya?ml|md|sh|tpl)$/.test(name))
    .map((name) => `examples/${name}`);
  const all = [...pages, ...examples, 'README.md', 'Dockerfile'];

  test.each(all)('%s names only variables that there are', (file) => {
    expect(unknownVariables(read(file))).toEqual([]);
  });

  test.each(all)('%s starts the daemon only with flags that there are', (file) => {
    const known = SERVE_OPTIONS.map(({ name }) => `--${name}`);
    const commands = read(file)
      .replaceAll('\\\n', ' ')
      .split('\n')
      .filter((line) => /^[^#|*]*\b(gitplane|main\.js) serve --/.test(line));
    const flags = commands.flatMap((line) => line.match(/(?<=\s)--[a-z-]+/g) ?? []);
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  });
});

/** Of tests, and of what is run beside the daemon. */
const OTHERS = /^GITPLANE_(FAULTS|TEST|BENCH|TERRAFORM_PROVIDER|ARGOCD$|SYNC_CYCLES$|KEY$)/;

function unknownVariables(text: string): string[] {
  const options = Object.values(COMMAND_TABLE).flatMap((command) => command.options);
  const known = new Set(options.map(({ name }) => variableOf(name)));
  const named = new Set(text.match(/\bGITPLANE_[A-Z][A-Z_]*[A-Z]\b(?!…)/g) ?? []);
  return [...named].filter((name) => !known.has(name) && !OTHERS.test(name));
}
