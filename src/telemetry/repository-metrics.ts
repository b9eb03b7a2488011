/** Metrics about the objects of the repository, the keys of its secrets and the widths of its folders. */
import { Gauge, type Registry } from 'prom-client';

export interface RepositoryMetrics {
  readonly damaged: Gauge<'part'>;
}

/** Entries of the widest folder, and bytes of its tree. */
export interface WidestFolder {
  readonly entries: number;
  readonly bytes: number;
}

/** `widestFolder` is called for each scrape. */
export function createRepositoryMetrics(
  registry: Registry,
  widestFolder: () => Promise<WidestFolder | undefined>,
): RepositoryMetrics {
  const registers = [registry];
  const gauge = (part: keyof WidestFolder, help: string): void => {
    new Gauge({
      name: `gitplane_repository_widest_folder_${part}`,
      help,
      registers,
      async collect() {
        const widest = await widestFolder().catch(() => undefined);
        this.set(widest?.[part] ?? Number.NaN);
      },
    });
  };
  gauge('entries', 'Files and folders in the widest folder');
  gauge(
    'bytes',
    'Bytes of the widest folder, which each commit that changes one of its files writes anew',
  );
  return {
    damaged: new Gauge({
      name: 'gitplane_repository_damaged',
      help: '1 while objects of the repository cannot be read, by part (tip, packs, history)',
      labelNames: ['part'],
      registers,
    }),
  };
}
