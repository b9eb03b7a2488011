/** Costs: the configured prices, their sums per tenant, and what is not known. */
import type { JSX } from 'preact';
import type { TenantCost, TenantCosts } from '../../../client/index.ts';
import {
  Empty,
  ErrorNotice,
  Facts,
  Loading,
  Notice,
  PageHead,
  Panel,
  Time,
} from '../components/parts.tsx';
import { amount, count } from '../format.ts';
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
  const settings = useLoad(
    async (signal) => {
      if (config === undefined) return undefined;
      const { items } = await client.list(config, { limit: 1, signal });
      const control = items[0]?.status?.['costControl'] as { settings?: CostSettings } | undefined;
      return control?.settings ?? {};
    },
    [config],
  );
  const costs = useLoad((signal) => client.api.get('/costs', { signal }), []);
  return (
    <>
      <PageHead title="Costs" />
      <div class="stack">
        {settings.error === undefined ? undefined : <ErrorNotice error={settings.error} />}
        {settings.value === undefined ? undefined : <Prices settings={settings.value} />}
        {costs.error === undefined ? undefined : <ErrorNotice error={costs.error} />}
        {costs.value === undefined ? (
          costs.error === undefined && <Loading />
        ) : (
          <Sums costs={costs.value} />
        )}
        <Notice tone="info" title="What is counted">
          <p>
            A tenant has the share of its nodes that its pods request. Pods that request nothing are
            not counted. The configuration has prices for CPU and memory alone: graphics processors,
            volumes, load balancers and control planes are not counted.
          </p>
        </Notice>
      </div>
    </>
  );
}

function Sums({ costs }: { costs: TenantCosts }): JSX.Element {
  const { items, total, currency = '' } = costs;
  return (
    <Panel title={count(costs.count, 'tenant')} flush>
      {items.length === 0 ? (
        <Empty>
          There are no <a href={href(['tenants'])}>tenants</a>.
        </Empty>
      ) : (
        <div class="scroll">
          <table class="grid costs">
            <thead>
              <tr>
                {['Tenant', 'CPU', 'Memory', 'Per hour', 'Per month', 'Not known'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <CostRow key={item.name} item={item} currency={currency} />
              ))}
              <tr>
                <th scope="row">
                  {total.tenants === 0 ? 'Sum' : `Sum of ${count(total.tenants, 'tenant')}`}
                </th>
                <td />
                <td />
                <td data-label="Per hour">
                  {total.tenants === 0 ? UNKNOWN : money(total.perHour, currency)}
                </td>
                <td data-label="Per month">
                  {total.tenants === 0 ? UNKNOWN : money(total.perMonth, currency)}
                </td>
                <td data-label="Not known">
                  {costs.count === total.tenants
                    ? ''
                    : `${count(costs.count - total.tenants, 'tenant')} without a sum`}
                </td>
              </tr>
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function CostRow({ item, currency }: { item: TenantCost; currency: string }): JSX.Element {
  const { name, cpu, memory, total, unknown, observedAt } = item;
  return (
    <tr>
      <th scope="row">
        <a href={href(['tenants', name])}>{name}</a>
      </th>
      <td data-label="CPU">
        {cpu === undefined ? UNKNOWN : money(cpu.perMonth, currency)}
        {cpu === undefined ? undefined : (
          <div class="muted">{`${amount(cpu.requested)} of ${amount(cpu.capacity)} cores`}</div>
        )}
      </td>
      <td data-label="Memory">
        {memory === undefined ? UNKNOWN : money(memory.perMonth, currency)}
        {memory === undefined ? undefined : (
          <div class="muted">
            {`${amount(memory.requested / GIB)} of ${amount(memory.capacity / GIB)} GiB`}
          </div>
        )}
      </td>
      <td data-label="Per hour">
        {total === undefined ? UNKNOWN : money(total.perHour, currency)}
      </td>
      <td data-label="Per month">
        {total === undefined ? UNKNOWN : money(total.perMonth, currency)}
        {observedAt === undefined ? undefined : (
          <div class="muted">
            <Time value={observedAt} />
          </div>
        )}
      </td>
      <td data-label="Not known">
        {unknown.map(({ what, reason }) => (
          <div key={`${what} ${reason}`} class="message">
            {what === 'tenant' ? reason : `${RESOURCES[what]}: ${reason}`}
          </div>
        ))}
      </td>
    </tr>
  );
}

const GIB = 2 ** 30;
const UNKNOWN = <span class="muted nowrap">unknown</span>;
const RESOURCES = { cpu: 'CPU', memory: 'Memory' } as const;

function money(value: number, currency: string): string {
  return `${amount(value)} ${currency}`.trim();
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
