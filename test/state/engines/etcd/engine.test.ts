import { afterAll, describe } from 'vitest';
import { testStateEngine } from '../../../conformance/state-engine.ts';
import { testStore } from '../../../conformance/store.ts';
import { ETCD_MISSING } from '../../../support/etcd.ts';
import { etcdHarness, etcdStoreHarness, stopSharedEtcd } from './harness.ts';

afterAll(() => stopSharedEtcd());

describe.skipIf(ETCD_MISSING !== undefined)(`state in etcd ${ETCD_MISSING ?? ''}`, () => {
  testStateEngine('the etcd engine', etcdHarness);
  testStore('the journaled store in etcd', etcdStoreHarness);
});
