/**
 * Sealed files as an outsider writes and opens them: the format of SOPS with age, without any code of
 * the daemon. A pusher chooses the data key and the recipients here, so that the campaign knows what
 * each person can open.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { armor, Decrypter, Encrypter } from 'age-encryption';
import { parseAllDocuments, stringify } from 'yaml';

/** Hashed first where the MAC covers encrypted values only. */
const MAC_ONLY_ENCRYPTED = '8a3fd2ad54ce66527b1034f3d147be0b0b975b3bf44f72c6fdadec8176f27d69';
const VALUE = /^ENC\[AES256_GCM,data:([^,]*),iv:([^,]*),tag:([^,]*),type:(\w+)\]$/;

export interface SealedObject {
  readonly spec?: { readonly data?: Readonly<Record<string, string>> };
}

export interface SealingWish {
  readonly dataKey: Buffer;
  readonly recipients: readonly string[];
}

/** One file of sealed objects, each with the same block of metadata. */
export async function sealFile(
  objects: readonly SealedObject[],
  { dataKey, recipients }: SealingWish,
): Promise<string> {
  const hash = createHash('sha512').update(Buffer.from(MAC_ONLY_ENCRYPTED, 'hex'));
  const docs = objects.map((object) => {
    const data: Record<string, string> = {};
    for (const [key, value] of Object.entries(object.spec?.data ?? {})) {
      hash.update(value);
      data[key] = sealValue(dataKey, value, `spec:data:${key}:`);
    }
    return { ...object, spec: { ...object.spec, data } };
  });
  const lastmodified = new Date().toISOString().replace(/\.\d+/, '');
  const sops = {
    age: await Promise.all(recipients.map((one) => wrapped(dataKey, one))),
    encrypted_regex: '^(data|kubectl\\.kubernetes\\.io/last-applied-configuration)$',
    lastmodified,
    mac: sealValue(dataKey, hash.digest('hex').toUpperCase(), lastmodified),
    mac_only_encrypted: true,
    version: '3.13.2',
  };
  return docs.map((doc) => stringify({ ...doc, sops }, { lineWidth: 0 })).join('---\n');
}

async function wrapped(dataKey: Buffer, recipient: string) {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  return { recipient, enc: armor.encode(await encrypter.encrypt(dataKey)) };
}

function sealValue(dataKey: Buffer, plain: string, aad: string): string {
  if (plain === '') return '';
  const iv = randomBytes(32);
  const cipher = createCipheriv('aes-256-gcm', dataKey, iv).setAAD(Buffer.from(aad));
  const data = Buffer.concat([cipher.update(plain), cipher.final()]);
  const [a, b, c] = [data, iv, cipher.getAuthTag()].map((part) => part.toString('base64'));
  return `ENC[AES256_GCM,data:${a},iv:${b},tag:${c},type:str]`;
}

export interface SealedValue {
  readonly key: string;
  readonly text: string;
}

export interface ReadSealed {
  readonly values: readonly SealedValue[];
  readonly age: readonly { readonly recipient: string; readonly enc: string }[];
}

/** Sealed values of `spec.data` and who the file is sealed for; undefined: no sealed file. */
export function readSealed(text: string): ReadSealed | undefined {
  if (!text.includes('ENC[AES256_GCM')) return undefined;
  const values: SealedValue[] = [];
  const age: { recipient: string; enc: string }[] = [];
  for (const doc of parseAllDocuments(text)) {
    const value = doc.toJS() as {
      spec?: { data?: Record<string, unknown> };
      sops?: { age?: { recipient: string; enc: string }[] };
    } | null;
    age.push(...(value?.sops?.age ?? []));
    for (const [key, sealed] of Object.entries(value?.spec?.data ?? {})) {
      if (typeof sealed === 'string') values.push({ key, text: sealed });
    }
  }
  return { values, age };
}

/** The value, where this data key opens it. */
export function openValue(dataKey: Buffer, { key, text }: SealedValue): string | undefined {
  const [, data = '', iv = '', tag = ''] = VALUE.exec(text) ?? [];
  if (tag === '') return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', dataKey, Buffer.from(iv, 'base64'))
      .setAAD(Buffer.from(`spec:data:${key}:`))
      .setAuthTag(Buffer.from(tag, 'base64'));
    const plain = Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()]);
    return plain.toString('utf8');
  } catch {
    return undefined;
  }
}

/** The data key, where this identity opens it. */
export async function openDataKey(identity: string, enc: string): Promise<Buffer | undefined> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  try {
    return Buffer.from(await decrypter.decrypt(armor.decode(enc)));
  } catch {
    return undefined;
  }
}
