/** Costs: what the configured prices give for the platform, and what cannot be known. */
import type { JSX } from 'preact';
import {
  Empty,
  ErrorNotice,
  Facts,
  Loading,
  Notice,
  PageHead,
  Panel,
} from '../components/parts.tsx';
import { count } from '../format.ts';
import { useLoad } from '../load.ts';
import { href } from '../location.ts';
import { resources } from '../resources.ts';
import { client } from '../session.ts';

interface Price {
  readonly price?: number;
  readonly timePeriod?: string;
}

interface CostSettings {
  readonly priceCurrency?: string;
  readonly averageCPUPricePerNode?: Price;
  readonly averageRAMPricePerNode?: Price;
}

export function CostsPage(): JSX.Element {
  const config = resources.value.find(({ name }) => name === 'config');
  const tenants = resources.value.find(({ name }) => name === 'tenants');
  const found = useLoad(
    async (signal) => {
      if (config === undefined || tenants === undefined) return undefined;
      const [configs, all] = await Promise.all([
        client.list(config, { limit: 1, signal }),
        client.list(tenants, { limit: 500, signal }),
      ]);
      const status = configs.items[0]?.status?.['costControl'] as { settings?: CostSettings };
      const { items, metadata } = all;
      return {
        settings: status?.settings ?? {},
        tenants: items.length + (metadata.remainingItemCount ?? 0),
      };
    },
    [config, tenants],
  );
  return (
    <>
      <PageHead title="Costs" />
      {found.error === undefined ? undefined : <ErrorNotice error={found.error} />}
      {found.value === undefined ? (
        found.error === undefined && <Loading />
      ) : (
        <div class="stack">
          <Prices settings={found.value.settings} />
          <Panel title="Tenants">
            <p>
              <a href={href(['tenants'])}>{count(found.value.tenants, 'tenant cluster')}</a>
            </p>
          </Panel>
          <Notice tone="info" title="What is not known">
            <p>
              Costs per tenant need its nodes and the requests of its workloads. The platform reads
              Endpoints and Services of tenant clusters, and no nodes: it shows no sum that would be
              a guess.
            </p>
          </Notice>
        </div>
      )}
    </>
  );
}

function Prices({ settings }: { settings: CostSettings }): JSX.Element {
  const { priceCurrency = '', averageCPUPricePerNode: cpu, averageRAMPricePerNode: ram } = settings;
  const textOf = (price: Price | undefined): string | undefined =>
    price?.price === undefined
      ? undefined
      : `${price.price} ${priceCurrency} ${(price.timePeriod ?? '').toLowerCase()}`.trim();
  const rows = [
    ['CPU of a node, on average', textOf(cpu)],
    ['Memory of a node, on average', textOf(ram)],
  ] as const;
  return (
    <Panel title="Prices">
      {rows.every(([, value]) => value === undefined) ? (
        <Empty>
          costControl.settings of the <a href={href(['config'])}>configuration</a> has no prices.
        </Empty>
      ) : (
        <Facts rows={rows} />
      )}
    </Panel>
  );
}
