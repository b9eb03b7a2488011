import { testStateEngine } from '../../conformance/state-engine.ts';
import { memoryHarness } from '../harnesses.ts';

testStateEngine('the memory engine', memoryHarness);
