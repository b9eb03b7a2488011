/** Effects of edits on the text, feature by feature: exact text before and after. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { describeEdit, editDocument, ManifestEditError } from '../../src/manifests/edit.ts';
import { parseManifests } from '../../src/manifests/parse.ts';

// biome-ignore lint/suspicious/noExplicitAny: the changes below reach into values of any shape
type Loose = any;
type Case = [title: string, before: string, change: (value: Loose) => void, after: string];

function check(_title: string, before: string, change: (value: Loose) => void, after: string) {
  const desired = structuredClone(read(before));
  change(desired);
  const edit = describeEdit(before, 0, desired);
  expect(edit.text).toBe(after);
  expect(read(edit.text)).toEqual(desired);
}

function read(text: string): JsonObject {
  const [document] = parseManifests(text).documents;
  expect(document?.problems).toEqual([]);
  return document?.value as JsonObject;
}

describe('scalars', () => {
  test.each<Case>([
    [
      'a plain scalar changes alone; space and comment around it stay',
      `a: 1
name:    foo   # why
b: 2
`,
      (v) => {
        v.name = 'bar';
      },
      `a: 1
name:    bar   # why
b: 2
`,
    ],
    [
      'a plain scalar that would be read as something else is quoted',
      'a: x # c\nb: x\nc: x\n',
      (v) => {
        v.a = 'yes';
        v.b = 'k: v';
        v.c = '0x1';
      },
      `a: "yes" # c
b: "k: v"
c: "0x1"
`,
    ],
    [
      'quotes stay the quotes they are',
      'a: \'x\'\nb: "y"\nc: z\n',
      (v) => {
        v.a = "b's";
        v.b = 'q"r';
        v.c = 'z z';
      },
      "a: 'b''s'\nb: \"q\\\"r\"\nc: z z\n",
    ],
    [
      'single quotes give way where the text needs an escape',
      "a: 'x' # c\n",
      (v) => {
        v.a = 'two\nlines';
      },
      'a: "two\\nlines" # c\n',
    ],
    [
      'numbers, words and null are written plainly',
      "a: 'x' # c\nb: y\nc: 0x10\nd: 1\n",
      (v) => {
        v.a = 5;
        v.b = true;
        v.c = null;
        v.d = 1e21;
      },
      `a: 5 # c
b: y
c: null
d: 1.0e+21
`,
    ],
    [
      'a number spelt in another way stays as long as its value does',
      `a: 0x10
b: 1_000
c: 0644
d: 1
`,
      (v) => {
        v.d = 2;
      },
      `a: 0x10
b: 1_000
c: 0644
d: 2
`,
    ],
    [
      'a plain scalar over several lines becomes one line',
      `a: one
  two
  three # c
b: 1
`,
      (v) => {
        v.a = 'four five';
      },
      'a: four five # c\nb: 1\n',
    ],
    [
      'a quoted scalar over several lines becomes one line',
      'a: "one\n  two"  # c\nb: 1\n',
      (v) => {
        v.a = 'three';
      },
      'a: "three"  # c\nb: 1\n',
    ],
    [
      'a scalar below its key stays there with the comment above it',
      'a:\n  # why\n  one # c\nb: 1\n',
      (v) => {
        v.a = 'x';
      },
      'a:\n  # why\n  x # c\nb: 1\n',
    ],
    [
      'text of several lines becomes a literal block below the comment of its line',
      'a: one # c\nb: 1\n',
      (v) => {
        v.a = 'x\ny\n';
      },
      'a: | # c\n  x\n  y\nb: 1\n',
    ],
    [
      'a value is written behind a key that has none',
      'a:\nb: # c\nc: 1\n',
      (v) => {
        v.a = 'x';
        v.b = 'y';
      },
      'a: x\nb: "y" # c\nc: 1\n',
    ],
    [
      'null is written where a value was',
      'a: x # c\n',
      (v) => {
        v.a = null;
      },
      'a: null # c\n',
    ],
    [
      'space behind a tab stays',
      'a: 1\t# c\nb:\t2\n',
      (v) => {
        v.a = 3;
        v.b = 'x';
      },
      'a: 3\t# c\nb:\tx\n',
    ],
  ])('%s', check);
});

describe('block scalars', () => {
  test.each<Case>([
    [
      'a literal block keeps its header, comment and indentation',
      `a: | # why
    one

    two

b: 1
`,
      (v) => {
        v.a = 'one\n\n2\n';
      },
      `a: | # why
    one

    2

b: 1
`,
    ],
    [
      'lines of a literal block that stay keep their source',
      `a: |
  one  
   
  two
  three
b: 1
`,
      (v) => {
        v.a = 'one  \n \ntwo\nthree\nfour\n';
      },
      `a: |
  one  
   
  two
  three
  four
b: 1
`,
    ],
    [
      'chomping follows the line ends of the text',
      `a: |-
  x
b: |
  y
c: |+
  z

d: 1
`,
      (v) => {
        v.a = 'x\n';
        v.b = 'y';
        v.c = 'z\n\n\n';
      },
      `a: |
  x
b: |-
  y
c: |+
  z


d: 1
`,
    ],
    [
      'a keeping block does not take in the blank lines of what goes behind it',
      'a:   x # c\nk: |+\n  text\ngone: 1\n\n# d\nz:  2\n',
      (v) => {
        delete v.gone;
      },
      'a:   x # c\nk: |+\n  text\n# d\nz:  2\n',
    ],
    [
      'a keeping block may lose its blank lines',
      'c: |+\n  z\n\nd: 1\n',
      (v) => {
        v.c = 'z\n';
      },
      'c: |+\n  z\nd: 1\n',
    ],
    [
      'an indentation indicator appears where the first line begins with a space',
      'a: |\n  x\nb: 1\n',
      (v) => {
        v.a = '  x\ny\n';
      },
      'a: |2\n    x\n  y\nb: 1\n',
    ],
    [
      'an indentation indicator stays',
      'a: |2-\n    x\n  y\nb: 1\n',
      (v) => {
        v.a = '    x\n  z';
      },
      'a: |2-\n      x\n    z\nb: 1\n',
    ],
    [
      'a block becomes a quoted scalar where its style cannot hold the text',
      'a: | # why\n  one\n\nb: 1\n',
      (v) => {
        v.a = 'two\n\n';
      },
      'a: "two\\n\\n" # why\n\nb: 1\n',
    ],
    [
      'a block becomes a number, and its comment stays',
      'a: | # why\n  one\n  two\nb: 1\n',
      (v) => {
        v.a = 5;
      },
      'a: 5 # why\nb: 1\n',
    ],
    [
      'a block becomes a map',
      'a: |-\n  one\nb: 1\n',
      (v) => {
        v.a = { x: 1 };
      },
      'a:\n  x: 1\nb: 1\n',
    ],
    [
      'a folded block keeps the lines whose text stays',
      `a: >-
  folded text that goes
  over lines and more

  second
  paragraph
b: 1
`,
      (v) => {
        v.a = 'folded text that goes over lines and less\nsecond paragraph';
      },
      `a: >-
  folded text that goes
  over lines and less

  second
  paragraph
b: 1
`,
    ],
    [
      'a folded block is folded where it is new',
      'a: >\n  short\nb: 1\n',
      (v) => {
        v.a = 'a sentence that is long enough to be folded at least once and that has no end yet\n';
      },
      `a: >
  a sentence that is long enough to be folded at least once and that has no end
  yet
b: 1
`,
    ],
    [
      'a folded block whose text cannot be folded becomes a literal',
      'a: > # c\n  short\nb: 1\n',
      (v) => {
        v.a = 'x\n  y\n';
      },
      'a: | # c\n  x\n    y\nb: 1\n',
    ],
  ])('%s', check);
});

describe('maps', () => {
  test.each<Case>([
    [
      'a new key goes to the end of its map, before the blank line',
      'm:\n  a: 1\n\no: 2\n',
      (v) => {
        v.m.b = 'x';
      },
      'm:\n  a: 1\n  b: x\n\no: 2\n',
    ],
    [
      'keys that every object has go to their place at the top',
      `# licence
kind: T # c

# about spec
spec: {}
`,
      (v) => {
        v.metadata = { name: 'x' };
        v.apiVersion = 'v1';
        v.status = {};
      },
      `# licence
apiVersion: v1
kind: T # c
metadata:
  name: x

# about spec
spec: {}
status: {}
`,
    ],
    [
      'a key goes with its comments: the line, directly above, and deeper below',
      `# about a
a: 1

# apart

# about b
b: 2 # two
   # more on two
# about c
c: 3
`,
      (v) => {
        delete v.b;
      },
      `# about a
a: 1

# apart

# about c
c: 3
`,
    ],
    [
      'blank lines around a removed key do not add up',
      'a: 1\n\nb: 2\n\nc: 3\n',
      (v) => {
        delete v.b;
      },
      'a: 1\n\nc: 3\n',
    ],
    [
      'the first key goes with the blank line below it',
      'm:\n  a: 1\n\n  b: 2\n',
      (v) => {
        delete v.m.a;
      },
      'm:\n  b: 2\n',
    ],
    [
      'a map that loses its last key becomes {}',
      `m:
  a: 1 # gone
# stays
o: 1
`,
      (v) => {
        delete v.m.a;
      },
      'm: {}\n# stays\no: 1\n',
    ],
    [
      'the document that loses its last key becomes {}',
      '# head\na: 1\n',
      (v) => {
        delete v.a;
      },
      '# head\n{}\n',
    ],
    [
      'a map becomes a scalar, and the comment of its key stays',
      `m: # c
  a: 1
  # inside
# about o
o: 1
`,
      (v) => {
        v.m = 'x';
      },
      'm: x # c\n# about o\no: 1\n',
    ],
    [
      'a map becomes a list and a list a map',
      'm:\n  a: 1\nl:\n  - 1\no: 1\n',
      (v) => {
        v.m = ['x'];
        v.l = { y1: 2 };
      },
      'm:\n  - x\nl:\n  y1: 2\no: 1\n',
    ],
    [
      'aligned comments stay where they are',
      `a: 1    # one
        # more on one
bb: 22  # two
`,
      (v) => {
        v.a = 100;
        v.bb = 3;
      },
      `a: 100    # one
        # more on one
bb: 3  # two
`,
    ],
    [
      'a new key goes below the comment that continues above it',
      `m:
  a: 1    # one
          # more on one
o: 2
`,
      (v) => {
        v.m.b = 1;
      },
      `m:
  a: 1    # one
          # more on one
  b: 1
o: 2
`,
    ],
    [
      'a nested map takes the indentation of the document',
      'm:\n    a:\n        b: 1\n',
      (v) => {
        v.m.c = { d: { e: 1 } };
        v.o = { f: 1 };
      },
      `m:
    a:
        b: 1
    c:
        d:
            e: 1
o:
    f: 1
`,
    ],
    [
      'an indented root takes keys at its own column',
      '  a: 1\n  b: 2\n',
      (v) => {
        v.c = 3;
        delete v.a;
      },
      '  b: 2\n  c: 3\n',
    ],
    [
      'explicit keys keep their form',
      `? a
: b: 1
  c: 2
? d # c
: |
  t
`,
      (v) => {
        v.a.b = 9;
        v.d = 'u\n';
      },
      `? a
: b: 9
  c: 2
? d # c
: |
  u
`,
    ],
    [
      'an explicit key without a value gets one',
      '? a\n? b\n',
      (v) => {
        v.a = 'x';
        v.b = { c: 1 };
      },
      '? a\n: x\n? b\n:\n  c: 1\n',
    ],
    [
      'a key too long for an implicit one is written as an explicit one',
      'a: 1\n',
      (v) => {
        v['k'.repeat(1030)] = 1;
      },
      `a: 1\n? ${'k'.repeat(1030)}\n: 1\n`,
    ],
    [
      'odd keys are quoted',
      'a: 1\n',
      (v) => {
        v['yes'] = 1;
        v['x: y'] = 2;
        v['<<'] = 3;
        v[''] = 4;
      },
      `a: 1
"yes": 1
"x: y": 2
"<<": 3
"": 4
`,
    ],
  ])('%s', check);
});

describe('lists', () => {
  test.each<Case>([
    [
      'an item changes alone',
      'l:\n  - a # one\n  - b # two\n',
      (v) => {
        v.l[1] = 'c';
      },
      'l:\n  - a # one\n  - c # two\n',
    ],
    [
      'items are added where they belong',
      `l:
  - a # one
  # about c
  - c
m: 1
`,
      (v) => {
        v.l = ['0', 'a', 'b', 'c', 'd'];
      },
      `l:
  - "0"
  - a # one
  - b
  # about c
  - c
  - d
m: 1
`,
    ],
    [
      'items go with their comments',
      `l:
  # about a
  - a # one
  # about b
  - b # two
  # about c
  - c
`,
      (v) => {
        v.l.splice(1, 1);
      },
      `l:
  # about a
  - a # one
  # about c
  - c
`,
    ],
    [
      'a list that loses its last item becomes []',
      'l:\n  - a # gone\nm: 1\n',
      (v) => {
        v.l = [];
      },
      'l: []\nm: 1\n',
    ],
    [
      'a flush-left list stays flush left, and so do new lists',
      'l:\n- a\n- b # c\nm: 1\n',
      (v) => {
        v.l.push({ x: 1, z: [1] });
        v.o = ['q'];
      },
      `l:
- a
- b # c
- x: 1
  z:
  - 1
m: 1
o:
- q
`,
    ],
    [
      'an indented list stays indented, and so do new lists',
      'l:\n    - a\nm: 1\n',
      (v) => {
        v.l.push({ x: 1 });
        v.o = ['q'];
      },
      `l:
    - a
    - x: 1
m: 1
o:
    - q
`,
    ],
    [
      'fields of an item change alone',
      `l:
  - name: a # A
    v: 1 # one

  - name: b # B
    v: 2 # two
`,
      (v) => {
        v.l[1].v = 3;
      },
      `l:
  - name: a # A
    v: 1 # one

  - name: b # B
    v: 3 # two
`,
    ],
    [
      'an item is found by its name when others go',
      `l:
  - name: a # A
    v: 1
  - name: b # B
    v: 2
`,
      (v) => {
        v.l = [
          { name: 'b', v: 3 },
          { name: 'c', v: 1 },
        ];
      },
      `l:
  - name: b # B
    v: 3
  - name: c
    v: 1
`,
    ],
    [
      'items that change places take their comments with them',
      `l:
  # about a
  - name: a # A
  - name: b # B
`,
      (v) => {
        v.l.reverse();
      },
      `l:
  - name: b # B
  # about a
  - name: a # A
`,
    ],
    [
      'the first field of an item may go',
      `l:
  - a: 1 # one
    # about b
    b: 2
  - c: 1
`,
      (v) => {
        delete v.l[0].a;
      },
      `l:
  - # about b
    b: 2
  - c: 1
`,
    ],
    [
      'lists in lists',
      'l:\n- - a\n  - b\n- - c\n',
      (v) => {
        v.l[0].shift();
        v.l[1].push('d');
      },
      'l:\n- - b\n- - c\n  - d\n',
    ],
    [
      'items without a value get one',
      'l:\n  -\n  - # c\n  - x\n',
      (v) => {
        v.l[0] = 'w';
        v.l[1] = { a: 1, b: 2 };
      },
      `l:
  - w
  - a: 1 # c
    b: 2
  - x
`,
    ],
    [
      'an item becomes a map on the line of its dash',
      'l:\n  - x # c\n',
      (v) => {
        v.l[0] = { a: { b: 1 }, c: 2 };
      },
      `l:
  - a:
      b: 1
    c: 2
`,
    ],
    [
      'a tab behind a dash gives way to a map',
      'l:\n-\ta\n-\tb\n',
      (v) => {
        v.l[0] = { x: 1, z: 2 };
      },
      'l:\n- x: 1\n  z: 2\n-\tb\n',
    ],
  ])('%s', check);
});

describe('flow collections', () => {
  test.each<Case>([
    [
      'a value that becomes a collection keeps the space before it',
      'a: {b: 1, c: [1], d:  [2]}\n',
      (v) => {
        v.a.b = [7, 8];
        v.a.c = { z: 1 };
        v.a.d = { z: 2 };
      },
      'a: {b: [7, 8], c: {z: 1}, d:  {z: 2}}\n',
    ],
    [
      'a value on a line of its own stays there, behind its comment',
      'a: {b: # why\n  1, c:\n  [1]}\n',
      (v) => {
        v.a.c = 5;
      },
      'a: {b: # why\n  1, c:\n  5}\n',
    ],
    [
      'values change alone, with all the space around them',
      `a: { x: 1,z: 2 ,  w: [ 3 ] } # c
`,
      (v) => {
        v.a.z = 'it: is';
        v.a.w[0] = 4;
      },
      `a: { x: 1,z: "it: is" ,  w: [ 4 ] } # c
`,
    ],
    [
      'entries come and go on one line',
      'a: {x: 1, z: 2}\nb: [p, q, r]\n',
      (v) => {
        delete v.a.x;
        v.a.w = { k: [1] };
        v.b = ['p', 'r', 's'];
      },
      `a: {z: 2, w: {k: [1]}}
b: [p, r, s]
`,
    ],
    [
      'the last entries go with the comma before them',
      'a: {x: 1, z: 2}\nb: [p, q, r]\n',
      (v) => {
        delete v.a.z;
        v.b = ['p'];
      },
      'a: {x: 1}\nb: [p]\n',
    ],
    [
      'a comma at the end stays',
      'b: [ p, q, ]\n',
      (v) => {
        v.b = ['q', 'r'];
      },
      'b: [ q, r, ]\n',
    ],
    [
      'lines of a flow collection are entries, with their comments',
      `a: {
  x: 1, # one
  # about z
  z: 2,
  w: 3 # three
}
`,
      (v) => {
        delete v.a.z;
        v.a.k = 1;
      },
      `a: {
  x: 1, # one
  w: 3, # three
  k: 1
}
`,
    ],
    [
      'the last line of a flow collection goes with the comma before it',
      `a: {
  x: 1, # one
  w: 3 # three
}
`,
      (v) => {
        delete v.a.w;
      },
      'a: {\n  x: 1 # one\n}\n',
    ],
    [
      'a first line is added',
      'b: [\n  p, # one\n  q\n]\n',
      (v) => {
        v.b.unshift('o');
      },
      'b: [\n  o,\n  p, # one\n  q\n]\n',
    ],
    [
      'a flow collection with a comment in the way is rewritten alone',
      `a: 1 # c
b: [p, # one
  q, r]
`,
      (v) => {
        v.b.shift();
      },
      'a: 1 # c\nb: [q, r]\n',
    ],
    [
      'emptied and filled',
      `a: {x: 1} # c
b: [p]
c: {} # d
d: []
`,
      (v) => {
        v.a = {};
        v.b = [];
        v.c = { k: 1 };
        v.d = ['q'];
      },
      `a: {} # c
b: []
c: # d
  k: 1
d:
  - q
`,
    ],
    [
      'a pair inside brackets is rewritten as a map',
      'b: [x: 1, q] # c\n',
      (v) => {
        v.b[0].x = 2;
      },
      'b: [{x: 2}, q] # c\n',
    ],
    [
      'a key without a value gets one',
      'a: {x, z: 2}\n',
      (v) => {
        v.a.x = 5;
      },
      'a: {x: 5, z: 2}\n',
    ],
    [
      'JSON stays JSON',
      `{
  "a": 1,
  "b": ["x", {"c":2}]
}
`,
      (v) => {
        v.b.push('yes');
        v.b[1].c = 'no';
        v.d = { e: 'f' };
      },
      `{
  "a": 1,
  "b": ["x", {"c":"no"}, "yes"],
  "d": {"e": "f"}
}
`,
    ],
    [
      'JSON has no comma at the end',
      '{\n  "a": 1,\n  "b": "x"\n}\n',
      (v) => {
        delete v.b;
      },
      '{\n  "a": 1\n}\n',
    ],
  ])('%s', check);
});

describe('anchors, aliases and merge keys', () => {
  test.each<Case>([
    [
      'an alias is written out where its value changes; the others stay',
      'a: &x\n  p: 1\nb: *x # c\nc: *x\n',
      (v) => {
        v.b.p = 2;
      },
      `a: &x
  p: 1
b: # c
  p: 2
c: *x
`,
    ],
    [
      'an anchor changes and its aliases follow where they are to',
      'a: &x 1\nb: *x\nc: [*x]\n',
      (v) => {
        v.a = 2;
        v.b = 2;
        v.c = [2];
      },
      'a: &x 2\nb: *x\nc: [*x]\n',
    ],
    [
      'aliases that are not to follow are written out',
      'a: &x 1\nb: *x\nc: [*x]\n',
      (v) => {
        v.a = 2;
        v.b = 2;
      },
      'a: &x 2\nb: *x\nc: [1]\n',
    ],
    [
      'the first alias left takes over an anchor that goes',
      `a: &x {q: 1}
l:
  - *x
  - *x
m: *x
`,
      (v) => {
        delete v.a;
      },
      `l:
  - &x
    q: 1
  - *x
m: *x
`,
    ],
    [
      'an anchor in a value that is replaced is taken over too',
      'a:\n  b: &x [1]\nc: *x\nd: *x\n',
      (v) => {
        v.a = 's';
      },
      'a: s\nc: &x\n  - 1\nd: *x\n',
    ],
    [
      'an anchor set twice: each alias keeps the value it had',
      'a: &x 1\nb: *x\nc: &x 2\nd: *x\n',
      (v) => {
        delete v.c;
      },
      'a: &x 1\nb: *x\nd: 2\n',
    ],
    [
      'an anchor stays on a value that is replaced',
      `a: &x 1
b: &w
  c: 1
l:
  - &z q
`,
      (v) => {
        v.a = { q: 1 };
        v.b = 's';
        v.l[0] = { a: 1, b: 2 };
      },
      `a: &x
  q: 1
b: &w s
l:
  - a: 1
    b: 2
`,
    ],
    [
      'a merged value is overridden',
      `b: &b
  x: 1
  z: {w: 1}
c:
  <<: *b # why
  q: 1
`,
      (v) => {
        v.c.x = 2;
        v.c.z.w = 2;
      },
      `b: &b
  x: 1
  z: {w: 1}
c:
  <<: *b # why
  q: 1
  x: 2
  z:
    w: 2
`,
    ],
    [
      'a merge key goes where a merged key is to go',
      `b: &b
  x: 1
  z: {w: 1}
c:
  <<: *b # why
  q: 1
`,
      (v) => {
        delete v.c.x;
      },
      `b: &b
  x: 1
  z: {w: 1}
c:
  q: 1
  z:
    w: 1
`,
    ],
    [
      'merged values follow their anchor',
      `b: &b {x: 1}
c:
  <<: *b
  z: 1
`,
      (v) => {
        v.b.x = 2;
        v.c.x = 2;
      },
      `b: &b {x: 2}
c:
  <<: *b
  z: 1
`,
    ],
    [
      'merged values that are not to follow are written out',
      `b: &b {x: 1}
c:
  <<: *b
  z: 1
`,
      (v) => {
        v.b.x = 2;
      },
      `b: &b {x: 2}
c:
  <<: *b
  z: 1
  x: 1
`,
    ],
    [
      'several sources',
      `b: &b {x: 1}
d: &d {z: 1}
c:
  <<: [*b, *d]
  w: 1
`,
      (v) => {
        v.c.z = 2;
      },
      `b: &b {x: 1}
d: &d {z: 1}
c:
  <<: [*b, *d]
  w: 1
  z: 2
`,
    ],
    [
      'an alias as a key is written out where its anchor goes',
      'a: &k name\n*k : v\n',
      (v) => {
        v.a = 'other';
      },
      'a: &k other\nname : v\n',
    ],
    [
      'an anchor on a key',
      '&k a: 1\nb: *k\nc: *k\n',
      (v) => {
        delete v.a;
      },
      'b: &k a\nc: *k\n',
    ],
  ])('%s', check);
});

describe('tags', () => {
  test.each<Case>([
    [
      'a tag stays while it fits',
      `a: !!str 5 # c
b: !!int "7"
c: !!map {x: 1}
d: !!seq
- 1
e: ! 12
f: !!float 1
`,
      (v) => {
        v.a = '6';
        v.b = 8;
        v.c.x = 2;
        v.d.push(2);
        v.e = '13';
        v.f = 2.5;
      },
      `a: !!str "6" # c
b: !!int 8
c: !!map {x: 2}
d: !!seq
- 1
- 2
e: ! "13"
f: !!float 2.5
`,
    ],
    [
      'a tag goes where it does not fit',
      `a: !!str 5 # c
b: !!map
  x: 1
c: &k !!str 5
d: !!str &m 5
e: [!!str 1, 2]
f: !!null
`,
      (v) => {
        v.a = 6;
        v.b = 's';
        v.c = [1];
        v.d = 7;
        v.e[0] = 3;
        v.f = 't';
      },
      `a: 6 # c
b: s
c: &k
  - 1
d: &m 7
e: [3, 2]
f: t
`,
    ],
  ])('%s', check);
});

describe('the frame of the file', () => {
  test.each<Case>([
    [
      'CRLF',
      'a: 1\r\nb:\r\n  - x\r\n\r\nt: |\r\n  one\r\n  two\r\n',
      (v) => {
        v.b.push('z');
        v.c = 'q\nr\n';
        v.t = 'one\n2\n';
        v.d = { e: 1 };
      },
      'a: 1\r\nb:\r\n  - x\r\n  - z\r\n\r\nt: |\r\n  one\r\n  2\r\nc: |\r\n  q\r\n  r\r\nd:\r\n  e: 1\r\n',
    ],
    [
      'a byte order mark',
      '\uFEFFa: 1\n',
      (v) => {
        v.a = 2;
        v.b = 1;
      },
      '\uFEFFa: 2\nb: 1\n',
    ],
    [
      'directives, markers and the comments around them',
      `%YAML 1.2
# top
--- # start
a: 1
# end
... # over
# behind
`,
      (v) => {
        v.a = 2;
        v.b = 1;
      },
      `%YAML 1.2
# top
--- # start
a: 2
b: 1
# end
... # over
# behind
`,
    ],
    [
      'no line end at the end',
      'a: 1\nb: 2',
      (v) => {
        v.b = 3;
        v.c = { d: 4 };
      },
      'a: 1\nb: 3\nc:\n  d: 4',
    ],
    [
      'no line end at the end, last key gone',
      'a: 1\nb: 2',
      (v) => {
        delete v.b;
      },
      'a: 1',
    ],
    [
      'no line end at the end, nothing to fill',
      'a:',
      (v) => {
        v.a = ['x'];
      },
      'a:\n  - x',
    ],
    [
      'a block scalar at the end gets its line end',
      'a: 1\nb: 2',
      (v) => {
        v.b = 'x\ny\n';
      },
      'a: 1\nb: |\n  x\n  y\n',
    ],
    [
      'a root on the line of its marker',
      '--- {a: 1} # c\n',
      (v) => {
        v.a = 2;
      },
      '--- {a: 2} # c\n',
    ],
  ])('%s', check);
});

describe('an edit', () => {
  test('an edit that changes nothing changes no byte', () => {
    const text = '# odd\n"a":   0x10   # c\n\n\nb: {x: 1 , z: [ ]}\r\n';
    expect(editDocument(text, 0, { b: { z: [], x: 1 }, a: 16 })).toBe(text);
  });

  test('does not care about the order of keys', () => {
    expect(editDocument('a: 1\nb: 2\n', 0, { b: 3, a: 1 })).toBe('a: 1\nb: 3\n');
  });

  test('leaves keys out whose value is undefined', () => {
    const desired = { a: 1, b: undefined } as unknown as JsonObject;
    expect(editDocument('a: 1\nb: 2\n', 0, desired)).toBe('a: 1\n');
  });

  test('an edit of a value that is not JSON is refused', () => {
    expect(() => editDocument('a: 1\n', 0, { a: Number.NaN })).toThrow(TypeError);
  });

  test('an edit may name the key __proto__', () => {
    const desired = JSON.parse('{"__proto__": {"x": 2}, "a": 1}');
    const text = editDocument('__proto__:\n  x: 1 # c\na: 1\n', 0, desired);
    expect(text).toBe('__proto__:\n  x: 2 # c\na: 1\n');
  });

  test('rewrites a node only where a splice will not do, and reports it', () => {
    const { strategy, text } = describeEdit('a: [p, # one\n  q]\nb: 1 # b\n', 0, {
      a: ['q'],
      b: 1,
    });
    expect(strategy).toBe('node');
    expect(text).toBe('a: [q]\nb: 1 # b\n');
  });

  test('an edit of a document without content writes it behind its marker', () => {
    const { text, strategy } = describeEdit('a: 1\n---\n# soon\n---\nb: 1\n', 1, { c: 1 });
    expect(text).toBe('a: 1\n---\nc: 1\n---\nb: 1\n');
    expect(strategy).toBe('document');
  });

  test('an edit of a document that is not a map rewrites it', () => {
    expect(editDocument('# c\njust text\n', 0, { a: 1 })).toBe('# c\na: 1\n');
  });

  test('an edit of a document that does not parse is refused with the place', () => {
    const text = 'a: 1\n---\nb: 1\nb: 2\n';
    expect(() => editDocument(text, 1, {})).toThrow(ManifestEditError);
    expect(() => editDocument(text, 1, {})).toThrow(
      'document 2 cannot be edited before it parses: 4:1: key "b" is already set in this map',
    );
  });

  test('an edit of a missing document is refused', () => {
    expect(() => editDocument('a: 1\n', 1, {})).toThrow(
      'there is no document 2: the file has 1; read it again',
    );
  });

  test('an edit that leaves too many comments for a later one is refused', () => {
    const text = `a: 1\n${'# c\n'.repeat(124_990)}b: 2\n`;
    const full = editDocument(text, 0, { a: 3, b: 2 });
    expect(full).toBe(text.replace('1', '3'));
    expect(() => editDocument(full, 0, { a: 3, b: 2, c: 4 })).toThrow(
      'the object cannot be written as a YAML document: more than 250000 words, marks and comments in one document; split it',
    );
  });
});
