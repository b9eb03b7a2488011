/** Which answers are compressed, and that it is the same answer then. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type Answer, bodyOf } from '../../../src/server/output/answer.ts';
import { compressed } from '../../../src/server/output/compression.ts';

const LARGE = 200_000;
const answerOf = (bytes: number): Answer => ({
  code: 200,
  contentType: 'application/json',
  body: Buffer.from('{"items":'),
  rest: [Buffer.alloc(bytes, 'ab')],
});
const gzip = { method: 'GET', headers: { 'accept-encoding': 'gzip' } };

describe('a large answer', () => {
  test.each(['gzip', 'deflate, gzip', 'br;q=1.0, GZIP ,*;q=0'])(
    'is compressed for %s',
    async (accept) => {
      const answer = { ...answerOf(LARGE), warnings: ['old'], headers: { vary: 'Accept' } };
      const packed = await compressed(
        { method: 'GET', headers: { 'accept-encoding': accept } },
        answer,
      );
      if (packed === undefined) throw new Error('is not compressed');
      expect(gunzipSync(bodyOf(packed)).equals(bodyOf(answer))).toBe(true);
      expect(packed).toMatchObject({
        code: 200,
        contentType: 'application/json',
        warnings: ['old'],
        headers: { 'content-encoding': 'gzip', vary: 'Accept, Accept-Encoding' },
      });
      expect(packed.rest).toBeUndefined();
    },
  );

  test('is compressed once for all clients, and again under another head', async () => {
    const answer = answerOf(LARGE);
    const first = await compressed(gzip, answer);
    expect((await compressed(gzip, { ...answer }))?.body).toBe(first?.body);
    const newer = { ...answer, body: Buffer.from('{"version":2,"items":') };
    const second = await compressed(gzip, newer);
    expect(gunzipSync(second?.body as Buffer).equals(bodyOf(newer))).toBe(true);
  });

  test.each<[string, Partial<Answer>, object]>([
    ['for who takes none', {}, { method: 'GET', headers: {} }],
    ['for who takes others', {}, { method: 'GET', headers: { 'accept-encoding': 'br, deflate' } }],
    [
      'for who gives it a weight',
      {},
      { method: 'GET', headers: { 'accept-encoding': 'gzip;q=0' } },
    ],
    ['with a session of a browser', {}, { ...gzip, headers: { ...gzip.headers, cookie: 'a=b' } }],
    ['to a write', {}, { ...gzip, method: 'POST' }],
    ['when it is none of a success', { code: 404 }, gzip],
    ['when it is small', { rest: [Buffer.alloc(100)] }, gzip],
  ])('goes out as it is %s', (_, of, asked) => {
    expect(compressed(asked as typeof gzip, { ...answerOf(LARGE), ...of })).toBeUndefined();
  });
});
