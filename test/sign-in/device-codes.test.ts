/** Sign-ins of programs without a browser (RFC 8628). */
import { describe, expect, test } from 'vitest';
import { DeviceCodes } from '../../src/sign-in/device-codes.ts';

const request = { source: '192.0.2.7', client: 'gitplane 1', device: 'ada@laptop' };

class Setup {
  now = 0;
  readonly codes = new DeviceCodes<string>({ now: () => this.now });

  begin(source = request.source): { deviceCode: string; userCode: string } {
    const begun = this.codes.begin({ ...request, source });
    if (begun === undefined) throw new Error('nothing was begun');
    return begun;
  }

  /** After so many seconds. */
  poll(deviceCode: string, after: number): unknown {
    this.now += after * 1000;
    const polled = this.codes.poll(deviceCode);
    return 'error' in polled ? polled.error : polled.grant;
  }
}

describe('a sign-in', () => {
  test('is shown to a user who types its code, in any spelling, and granted once', () => {
    const of = new Setup();
    const { deviceCode, userCode } = of.begin();
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(of.poll(deviceCode, 0)).toBe('authorization_pending');
    for (const typed of [
      userCode,
      userCode.toLowerCase(),
      userCode.replace('-', ' '),
      ` ${userCode}.`,
    ]) {
      expect(of.codes.requestOf(typed)).toEqual(request);
    }
    expect(of.codes.decide(userCode, { grant: 'ada' })).toBe(true);
    expect(of.poll(deviceCode, 5)).toBe('ada');
    expect(of.poll(deviceCode, 5)).toBe('expired_token');
  });

  test('is decided once: what was denied cannot be granted after', () => {
    const of = new Setup();
    const { deviceCode, userCode } = of.begin();
    expect(of.codes.decide(userCode, 'denied')).toBe(true);
    expect(of.codes.decide(userCode, { grant: 'mallory' })).toBe(false);
    expect(of.codes.requestOf(userCode)).toBeUndefined();
    expect(of.poll(deviceCode, 5)).toBe('access_denied');
    expect(of.poll(deviceCode, 5)).toBe('expired_token');
  });

  test('slows down who polls too often, more each time, and tells no result meanwhile', () => {
    const of = new Setup();
    const { deviceCode, userCode } = of.begin();
    expect(of.poll(deviceCode, 0)).toBe('authorization_pending');
    expect(of.poll(deviceCode, 1)).toBe('slow_down');
    of.codes.decide(userCode, { grant: 'ada' });
    expect(of.poll(deviceCode, 9)).toBe('slow_down');
    expect(of.poll(deviceCode, 15)).toBe('ada');
  });

  test('ends after ten minutes for both sides', () => {
    const of = new Setup();
    const { deviceCode, userCode } = of.begin();
    of.now = 600_000;
    expect(of.codes.requestOf(userCode)).toBeUndefined();
    expect(of.codes.decide(userCode, { grant: 'ada' })).toBe(false);
    expect(of.poll(deviceCode, 0)).toBe('expired_token');
  });

  test('is not found by a code that nobody was given', () => {
    const of = new Setup();
    of.begin();
    expect(of.codes.requestOf('BBBB-BBBB')).toBeUndefined();
    expect(of.codes.requestOf('')).toBeUndefined();
    expect(of.poll('', 5)).toBe('expired_token');
  });
});

describe('limits', () => {
  test('a network has at most twenty codes at a time, and others go on', () => {
    const of = new Setup();
    for (let count = 0; count < 20; count += 1) of.begin(`2001:db8::${count}`);
    expect(of.codes.begin({ ...request, source: '2001:db8::ffff' })).toBeUndefined();
    of.begin('2001:db8:1::1');
    of.begin('192.0.2.1');
  });

  test('ended and answered codes make room', () => {
    const of = new Setup();
    const begun = Array.from({ length: 20 }, () => of.begin());
    const [first] = begun;
    expect(of.codes.begin(request)).toBeUndefined();
    of.codes.decide(first?.userCode ?? '', { grant: 'ada' });
    expect(of.poll(first?.deviceCode ?? '', 0)).toBe('ada');
    of.begin();
    expect(of.codes.begin(request)).toBeUndefined();
    of.now = 600_000;
    for (let count = 0; count < 20; count += 1) of.begin();
  });

  test.each([
    ['IPv4', (i: number) => `10.0.${i >> 8}.${i & 255}`],
    ['/56 of one /48', (i: number) => `2001:db8:1:${((i & 255) << 8).toString(16)}::1`],
    ['/48 of one /32', (i: number) => `2001:db8:${(i + 1).toString(16)}::1`],
  ])(
    'all places taken from many networks (%s): a program elsewhere begins, and goes on',
    (_claim, at) => {
      const of = new Setup();
      const early = of.begin('198.51.100.1');
      for (let i = 0; i < 5_200; i += 1) of.codes.begin({ ...request, source: at(i) });
      const late = of.begin('203.0.113.1');
      expect(of.codes.requestOf(early.userCode)).toBeDefined();
      expect(of.poll(early.deviceCode, 0)).toBe('authorization_pending');
      expect(of.poll(late.deviceCode, 0)).toBe('authorization_pending');
    },
  );
});
