/** The text of all fields is that of the set of all fields, for any object and shape. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/apimachinery/object.ts';
import { fieldsText } from '../../src/field-management/fields-text.ts';
import { updateManagers } from '../../src/field-management/manage.ts';
import { schemaTree } from '../../src/kinds/schema/schema-files.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { runs } from '../support/properties.ts';

const kinds = buildKindTable('management.gitplane.dev').kinds.filter(
  ({ storedIn }) => storedIn === 'git',
);
const manager = { name: 'git', operation: 'Update', apiVersion: 'v1', subresource: '' } as const;

function bySet(schema: string, after: JsonObject, before: JsonObject): JsonObject {
  const shape = schemaTree(schema);
  const managers = updateManagers({ shape, before, after, managers: new Map(), manager, time: '' });
  return [...managers.values()][0]?.fields.toFieldsV1() ?? {};
}

const word = fc.constantFrom('a', 'b', '"', 'é', '__proto__', '10', 'f:x', '');
const value: fc.Arbitrary<JsonValue> = fc.letrec<{ any: JsonValue }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue[]>(null, 1, 'x', true, [], {}),
    fc.dictionary(word, tie('any')),
    fc.array(tie('any'), { maxLength: 3 }),
    // Items of the lists that the schemas name.
    fc.array(fc.record({ name: word, type: word, uid: word }), { maxLength: 3 }),
    fc.array(word, { maxLength: 4 }),
  ),
})).any;

test('is what an update by one manager owns', () => {
  void fc.assert(
    fc.property(fc.constantFrom(...kinds), value, value, value, (kind, labels, users, other) => {
      const object = {
        apiVersion: 'v1',
        kind: kind.kind,
        metadata: { name: 'x', uid: 'y', labels, finalizers: users, ownerReferences: other },
        spec: { users, data: labels, access: other, owner: { user: 'a' }, roleRef: labels },
        // Admission takes nothing but a list or null here.
        rules: Array.isArray(other) ? other : null,
        subjects: users,
      } as unknown as JsonObject;
      const text = fieldsText(schemaTree(kind.schema), object, kind.blank);
      const fields = (text === '' ? {} : JSON.parse(text)) as JsonObject;
      const expected = bySet(kind.schema, object, kind.blank);
      expect(JSON.stringify(fields)).toBe(JSON.stringify(expected));
    }),
    { numRuns: runs(500) },
  );
});
