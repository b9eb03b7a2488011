/** Secret in `POST /hooks/<secret>` of forges: from the operator, or generated once. */
import { randomBytes } from 'node:crypto';
import { createFile, readIfThere } from '../auth/index.ts';
import { StartError } from './start-error.ts';

/** Part of a path, and long enough that it cannot be guessed. */
const SECRET = /^[A-Za-z0-9._~-]{16,200}$/;

/** Throws StartError when the file holds no usable secret. `own`: file for a generated one. */
export async function hookSecret(of: { given: string | undefined; own: string }): Promise<string> {
  const { given, own } = of;
  if (given === undefined && (await readIfThere(own)) === undefined) {
    await createFile(own, `${randomBytes(24).toString('base64url')}\n`);
  }
  const file = given ?? own;
  const secret = (await readIfThere(file))?.trim();
  if (secret === undefined) throw new StartError(`Cannot read ${file}: it does not exist`);
  if (SECRET.test(secret)) return secret;
  throw new StartError(
    `${file} holds no secret for webhooks: write 16 to 200 letters, digits, ".", "_", "~" or "-"`,
  );
}
