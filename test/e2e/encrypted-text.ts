/** Manifests that a person encrypts for a daemon, with a data key of their own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { sealText } from '../../src/sealing/seal.ts';
import { ruleOfKeys } from '../../src/sealing/sops-config.ts';

/** Encrypts the values below these keys. */
export async function encryptedFor(
  { dataDir }: { readonly dataDir: string },
  text: string,
  keys: readonly string[],
): Promise<string> {
  const file = readFileSync(join(dataDir, 'age.key'), 'utf8');
  const { identity } = await makeIdentity();
  const keyring = await Keyring.open([identity], { marks: true });
  const key = await keyring.make([/age1\w+/.exec(file)?.[0] ?? '']);
  return sealText(text, { key, rule: ruleOfKeys([...keys]), now: 0 });
}
