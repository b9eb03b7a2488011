/** Listeners, which hear of a change before anybody else. */
import { expect, test } from 'vitest';
import type { JournalEvent } from '../../../src/state/store.ts';
import {
  describeEvent,
  paths,
  put,
  remove,
  SECRETS,
  secretsIn,
  TEAMS,
} from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testListeners(make: MakeHarness): void {
  const fixture = useStore(make);

  test('a listener is called before apply returns, once a change, in order', () => {
    const { store } = fixture;
    const heard: string[] = [];
    store.observe(SECRETS, (event) => heard.push(describeEvent(event)));

    store.apply([put('ops'), put('a/1'), put('a/1', { v: 2 })]);
    expect(heard).toEqual(['ADDED a/1', 'MODIFIED a/1']);
    store.apply([remove('a/1')]);
    expect(heard).toEqual(['ADDED a/1', 'MODIFIED a/1', 'DELETED a/1']);
  });

  test('a listener of a namespace hears that namespace only', () => {
    const { store } = fixture;
    const heard: string[] = [];
    store.observe(secretsIn('a'), (event) => heard.push(describeEvent(event)));

    store.apply([put('a/1'), put('b/1')]);

    expect(heard).toEqual(['ADDED a/1']);
  });

  test('a listener that throws is reported, and stops neither the others nor the change', () => {
    const { store, errors } = fixture;
    const heard: string[] = [];
    store.observe(TEAMS, () => {
      throw new Error('listener');
    });
    store.observe(TEAMS, (event) => heard.push(describeEvent(event)));

    store.apply([put('a'), put('b')]);

    expect(heard).toEqual(['ADDED a', 'ADDED b']);
    expect(errors).toEqual([new Error('listener'), new Error('listener')]);
    expect(paths(store.list(TEAMS))).toEqual(['a', 'b']);
  });

  test('a listener that is taken back hears nothing more, and only that one', () => {
    const { store } = fixture;
    const heard: string[] = [];
    const listener = (event: JournalEvent): void => void heard.push(describeEvent(event));
    const stop = store.observe(TEAMS, listener);
    store.observe(TEAMS, listener);
    store.apply([put('a')]);

    stop();
    stop();
    store.apply([put('b')]);

    expect(heard).toEqual(['ADDED a', 'ADDED a', 'ADDED b']);
  });

  test('every listener hears changes made by a listener after the earlier ones', () => {
    const { store } = fixture;
    const heard: string[] = [];
    store.observe(TEAMS, ({ type, current }) => {
      if (type === 'ADDED' && current.key.name.length === 1)
        store.apply([put(`${current.key.name}-child`)]);
    });
    store.observe(TEAMS, (event) => heard.push(describeEvent(event)));

    store.apply([put('a'), put('b')]);

    expect(heard).toEqual(['ADDED a', 'ADDED b', 'ADDED a-child', 'ADDED b-child']);
  });
}
