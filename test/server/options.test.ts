import { describe, expect, test } from 'vitest';
import { parseDeleteOptions } from '../../src/server/input/delete-options.ts';
import { parseListOptions, parseResourceVersion } from '../../src/server/input/list-options.ts';
import {
  fieldManagerOf,
  parseWriteOptions,
  type WriteOperation,
} from '../../src/server/input/write-options.ts';

const query = (text: string) => new URLSearchParams(text);
const invalid = (message: string) =>
  expect.objectContaining({ code: 422, reason: 'Invalid', message });
const badRequest = (message: unknown) => expect.objectContaining({ code: 400, message });

describe('options of a write', () => {
  const defaults = { dryRun: false, fieldValidation: 'Warn', fieldManager: '', force: false };
  test.each<[string, WriteOperation, object]>([
    ['', 'create', defaults],
    ['fieldValidation=', 'create', defaults],
    [
      'fieldManager=kubectl-create&fieldValidation=Strict&dryRun=All&timeout=nonsense&pretty=x',
      'create',
      { ...defaults, dryRun: true, fieldValidation: 'Strict', fieldManager: 'kubectl-create' },
    ],
    ['dryRun=All&dryRun=All', 'update', { ...defaults, dryRun: true }],
    ['fieldValidation=Ignore', 'merge', { ...defaults, fieldValidation: 'Ignore' }],
    [
      'fieldManager=kubectl&force=true',
      'apply',
      { ...defaults, fieldManager: 'kubectl', force: true },
    ],
    ['fieldManager=kubectl&force=false', 'apply', { ...defaults, fieldManager: 'kubectl' }],
  ])('?%s of %s', (text, operation, expected) => {
    expect(parseWriteOptions(query(text), operation)).toEqual(expected);
  });

  test.each<[string, WriteOperation, string]>([
    [
      'dryRun=Some',
      'create',
      'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
    ],
    [
      'dryRun=',
      'update',
      'UpdateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All"',
    ],
    [
      'fieldValidation=strict',
      'merge',
      'PatchOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"',
    ],
    [
      'force=true',
      'json',
      'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    ],
    [
      '',
      'apply',
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ],
    [
      `fieldManager=${'x'.repeat(129)}`,
      'create',
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
    ],
    [
      'fieldManager=a%0Ab',
      'create',
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)',
    ],
    [
      'dryRun=x&fieldValidation=y',
      'create',
      'CreateOptions.meta.k8s.io "" is invalid: [dryRun: Unsupported value: ["x"]: supported values: "All", fieldValidation: Unsupported value: "y": supported values: "", "Ignore", "Strict", "Warn"]',
    ],
  ])('?%s of %s is 422', (text, operation, message) => {
    expect(() => parseWriteOptions(query(text), operation)).toThrow(invalid(message));
  });

  test.each([
    ['fieldManager=me', 'kubectl/v1', 'me'],
    ['', 'kubectl.1.32/v1.32.5 (linux/amd64)', 'kubectl.1.32'],
    ['', `${'x'.repeat(300)}/1`, 'x'.repeat(128)],
    ['', undefined, 'unknown'],
  ])('the field manager of ?%s from %s', (text, userAgent, manager) => {
    expect(fieldManagerOf(parseWriteOptions(query(text), 'create'), userAgent)).toBe(manager);
  });
});

describe('options of a list', () => {
  const cluster = { scope: 'Cluster', selectableFields: ['spec.user'] } as const;
  const namespaced = { scope: 'Namespaced', selectableFields: [] } as const;

  test('default to everything at the newest version', () => {
    expect(parseListOptions(query(''), cluster, 'list')).toMatchObject({
      labels: { empty: true },
      fields: { empty: true },
      limit: 0,
      continueToken: '',
      resourceVersion: undefined,
      match: undefined,
    });
  });

  test('are read', () => {
    const text =
      'limit=500&continue=tok&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx,spec.user%3Du';
    const options = parseListOptions(query(text), cluster, 'list');
    expect(options).toMatchObject({ limit: 500, continueToken: 'tok', fields: { name: 'x' } });
    expect(options.labels.matches({ a: 'b' })).toBe(true);
    expect(options.labels.matches({ a: 'c' })).toBe(false);
  });

  test.each([
    ['resourceVersion=0', { resourceVersion: 0 }],
    ['resourceVersion=12', { resourceVersion: 12 }],
    ['resourceVersion=12&resourceVersionMatch=Exact', { resourceVersion: 12, match: 'Exact' }],
    ['resourceVersion=0&resourceVersionMatch=NotOlderThan', { match: 'NotOlderThan' }],
    ['resourceVersion=0&continue=x', { resourceVersion: 0, continueToken: 'x' }],
    ['limit=-1', { limit: 0 }],
    ['timeoutSeconds=0', { timeoutSeconds: undefined }],
  ])('?%s', (text, expected) => {
    expect(parseListOptions(query(text), cluster, 'list')).toMatchObject(expected);
  });

  test.each([
    ['resourceVersion=', undefined],
    ['resourceVersion=7', 7],
    ['resourceVersion=18446744073709551615', 18446744073709552000],
  ])('?%s is the version %s', (text, version) => {
    expect(parseResourceVersion(query(text))).toBe(version);
  });

  const prefix = 'ListOptions.meta.k8s.io "" is invalid: ';
  const match = `${prefix}resourceVersionMatch: `;
  test.each<['list' | 'watch', string, string]>([
    [
      'list',
      'resourceVersionMatch=Exact',
      `${match}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`,
    ],
    [
      'list',
      'resourceVersion=0&resourceVersionMatch=Exact',
      `${match}Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
    ],
    [
      'list',
      'resourceVersion=1&resourceVersionMatch=exact',
      `${match}Unsupported value: "exact": supported values: "Exact", "NotOlderThan", ""`,
    ],
    [
      'list',
      'resourceVersion=1&resourceVersionMatch=Exact&continue=x',
      `${match}Forbidden: resourceVersionMatch is forbidden when continue is provided`,
    ],
    [
      'list',
      'sendInitialEvents=true',
      `${prefix}sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`,
    ],
    [
      'watch',
      'sendInitialEvents=true',
      `${match}Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`,
    ],
    [
      'watch',
      'resourceVersion=1&resourceVersionMatch=NotOlderThan',
      `${match}Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`,
    ],
  ])('%s ?%s is 422', (mode, text, message) => {
    expect(() => parseListOptions(query(text), cluster, mode)).toThrow(invalid(message));
  });

  test.each<[string, unknown]>([
    ['limit=x', 'limit: "x" is not an integer'],
    ['limit=', 'limit: "" is not an integer'],
    ['timeoutSeconds=1.5', 'timeoutSeconds: "1.5" is not an integer'],
    ['resourceVersion=abc', 'invalid resource version: "abc"'],
    ['resourceVersion=-1', 'invalid resource version: "-1"'],
    [
      'resourceVersion=5&continue=x',
      'specifying resource version is not allowed when using continue',
    ],
    ['labelSelector=a%20in', expect.stringContaining('unable to parse requirement')],
    ['fieldSelector=spec.x%3D1', 'field label not supported: spec.x'],
    ['fieldSelector=metadata.namespace%3D1', 'field label not supported: metadata.namespace'],
  ])('?%s is 400', (text, message) => {
    expect(() => parseListOptions(query(text), cluster, 'list')).toThrow(badRequest(message));
  });

  test('namespaced kinds can be selected by namespace', () => {
    const text = 'fieldSelector=metadata.namespace%3Da';
    expect(parseListOptions(query(text), namespaced, 'list').fields.empty).toBe(false);
  });

  test('a watch of an informer', () => {
    const text =
      'allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=334&watch=true';
    expect(parseListOptions(query(text), cluster, 'watch')).toMatchObject({
      allowBookmarks: true,
      sendInitialEvents: true,
      timeoutSeconds: 334,
      match: 'NotOlderThan',
    });
    expect(parseListOptions(query('resourceVersion=9'), cluster, 'watch')).toMatchObject({
      allowBookmarks: false,
      sendInitialEvents: undefined,
      resourceVersion: 9,
    });
  });
});

describe('options of a delete', () => {
  const none = {
    dryRun: false,
    propagationPolicy: undefined,
    orphanDependents: undefined,
    gracePeriodSeconds: undefined,
    preconditions: {},
  };
  test.each<[unknown, string, object]>([
    [undefined, '', none],
    [{}, '', none],
    [{}, 'dryRun=All', none],
    [
      { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
      '',
      { ...none, propagationPolicy: 'Background' },
    ],
    [
      { dryRun: ['All'], gracePeriodSeconds: 0 },
      '',
      { ...none, dryRun: true, gracePeriodSeconds: 0 },
    ],
    [
      { preconditions: { uid: 'u', resourceVersion: '3' } },
      '',
      { ...none, preconditions: { uid: 'u', resourceVersion: '3' } },
    ],
    [{ preconditions: null, gracePeriodSeconds: null }, '', none],
    [
      undefined,
      'propagationPolicy=Orphan&gracePeriodSeconds=5&dryRun=All',
      { ...none, propagationPolicy: 'Orphan', gracePeriodSeconds: 5, dryRun: true },
    ],
    [
      undefined,
      'orphanDependents=false',
      { ...none, orphanDependents: false, propagationPolicy: 'Background' },
    ],
    [
      undefined,
      'orphanDependents=true',
      { ...none, orphanDependents: true, propagationPolicy: 'Orphan' },
    ],
    [undefined, 'uid=u&resourceVersion=4', none],
  ])('%j ?%s', (body, text, expected) => {
    expect(parseDeleteOptions(body, query(text))).toEqual(expected);
  });

  const prefix = 'DeleteOptions.meta.k8s.io "" is invalid: ';
  test.each<[unknown, string, string]>([
    [
      { propagationPolicy: 'background' },
      '',
      `${prefix}propagationPolicy: Unsupported value: "background": supported values: "Foreground", "Background", "Orphan"`,
    ],
    [
      { propagationPolicy: 'Orphan', orphanDependents: true },
      '',
      `${prefix}propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set`,
    ],
    [undefined, 'dryRun=x', `${prefix}dryRun: Unsupported value: ["x"]: supported values: "All"`],
  ])('%j ?%s is 422', (body, text, message) => {
    expect(() => parseDeleteOptions(body, query(text))).toThrow(invalid(message));
  });

  test.each<[unknown, string]>([
    [[], ''],
    ['x', ''],
    [{ kind: 'Team' }, ''],
    [{ gracePeriodSeconds: '5' }, ''],
    [{ gracePeriodSeconds: 1.5 }, ''],
    [{ dryRun: 'All' }, ''],
    [{ orphanDependents: 'no' }, ''],
    [{ preconditions: { uid: 5 } }, ''],
    [{ preconditions: [] }, ''],
    [undefined, 'gracePeriodSeconds=soon'],
  ])('%j ?%s is 400', (body, text) => {
    expect(() => parseDeleteOptions(body, query(text))).toThrow(badRequest(expect.any(String)));
  });
});
