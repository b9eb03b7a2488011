/** Text of a new access key, in the form that the server makes and checks. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 38;
const CHECKSUM_LENGTH = 6;

export function mintAccessKey(prefix: string): string {
  const start = `${prefix}_${randomText()}`;
  return start + checksum(start);
}

/** Drops bytes from the largest multiple of 62 up, so that all characters are equally likely. */
function randomText(): string {
  const limit = 256 - (256 % ALPHABET.length);
  let text = '';
  while (text.length < RANDOM_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(64))) {
      if (byte < limit && text.length < RANDOM_LENGTH)
        text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text;
}

function checksum(text: string): string {
  let rest = crc32(new TextEncoder().encode(text));
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

function crc32(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
