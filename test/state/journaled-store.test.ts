import { testStore } from '../conformance/store.ts';
import { lmdbStoreHarness, memoryStoreHarness } from './harnesses.ts';

testStore('the journaled store in memory', memoryStoreHarness);
testStore('the journaled store in LMDB', lmdbStoreHarness);
