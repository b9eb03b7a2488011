/** The one translator of raw errors: a sentence with a remedy for those of Node and OpenSSL. */

/** By error code; the sentence goes on after the name of a file or an address. */
const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist; check the path',
  EACCES: 'permission denied; check the owner and the mode, or run as another user',
  EPERM: 'the system does not permit it; check the owner and the mode',
  EISDIR: 'it is a directory; name a file',
  ENOTDIR: 'a part of the path is not a directory; check the path',
  ENOTEMPTY: 'the directory is not empty; choose another',
  EEXIST: 'it exists already; choose another name, or remove it',
  ENOSPC: 'the disk is full; free some space',
  EDQUOT: 'the disk quota is used up; free some space',
  EROFS: 'the file system is read-only; choose another directory',
  EIO: 'the disk reports an error; check the hardware',
  EMFILE: 'too many files are open; raise the limit with ulimit -n',
  ENFILE: 'the system has too many open files; raise fs.file-max',
  ENAMETOOLONG: 'the path is too long; choose a shorter one',
  ELOOP: 'the path has a loop of symbolic links; check the links',
  E2BIG: 'the arguments are too long for the system; use a file or standard input',
  EADDRINUSE: 'the port is in use; stop the other program, or choose another port',
  EADDRNOTAVAIL: 'this machine does not have the address; choose another',
  ECONNREFUSED: 'nothing listens there; check that the daemon runs, and the address',
  ECONNRESET: 'the server closed the connection; check the port, and that it is not overloaded',
  EPIPE: 'the reader closed the connection; try again',
  ENOTFOUND: 'the host name is unknown; check the name and the DNS',
  EAI_AGAIN: 'the DNS does not answer; try again, or check the network',
  ETIMEDOUT: 'there was no answer in time; check the network and the firewall',
  EHOSTUNREACH: 'the host cannot be reached; check the network',
  ENETUNREACH: 'the network cannot be reached; check the network',
  EPROTO: 'the port does not speak TLS; check the port, or use http://',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the port does not speak TLS; check the port, or use http://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the port does not speak TLS; check the port, or use http://',
  CERT_HAS_EXPIRED: 'the certificate of the server has expired; renew it',
  CERT_NOT_YET_VALID: 'the certificate of the server is not valid yet; check the clocks',
  CERT_REVOKED: 'the certificate of the server is revoked; renew it',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate of the server is for other host names; use one of them, or add this one with --hostname of the daemon',
  ERR_INVALID_URL: 'it is not a URL; write https://HOST[:PORT]',
  ERR_OSSL_PEM_NO_START_LINE: 'it is not PEM; name a file that has a line "-----BEGIN …-----"',
  ERR_OSSL_PEM_BAD_END_LINE: 'the PEM file is cut off; copy it again',
  ERR_OSSL_PEM_BAD_BASE64_DECODE: 'the PEM file is damaged; copy it again',
  ERR_OSSL_PEM_BAD_PASSWORD_READ: 'the key has a passphrase; remove it with openssl pkey',
  ERR_OSSL_X509_KEY_VALUES_MISMATCH:
    'the key does not belong to the certificate; name the key of it',
  ERR_OSSL_EE_KEY_TOO_SMALL: 'the key of the certificate is too short; create a longer one',
  ERR_OSSL_UNSUPPORTED: 'the format of the key is not supported; convert it with openssl pkey',
};

const UNKNOWN_AUTHORITY =
  'the certificate is signed by an unknown CA; name the CA certificate with --ca-file, or in the kubeconfig';

for (const code of [
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]) {
  Object.assign(SENTENCES, { [code]: UNKNOWN_AUTHORITY });
}

/** Message of an error for people. Our own errors keep their message, without the raw parts of their causes. */
export function explainError(error: unknown): string {
  if (!(error instanceof Error)) return translateText(String(error));
  const own = sentenceOf(error);
  if (own !== undefined) return withSubject(error, own);
  let { message } = error;
  for (let { cause } = error; cause instanceof Error; { cause } = cause) {
    const sentence = sentenceOf(cause);
    if (sentence === undefined) continue;
    // Attempts at several addresses of a host fail with an empty message.
    if (cause.message === '') message = message.replace(/: $/, () => `: ${sentence}`);
    else message = message.replace(cause.message, () => sentence);
  }
  return translateText(message);
}

function sentenceOf(error: Error): string | undefined {
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return undefined;
  if (Object.hasOwn(SENTENCES, code)) return SENTENCES[code];
  if (code.startsWith('ERR_OSSL_') || code.startsWith('ERR_SSL_')) {
    const { reason } = error as { reason?: unknown };
    const why = typeof reason === 'string' ? ` (${reason})` : '';
    return `OpenSSL cannot use it${why}; check the certificate and the key`;
  }
  return undefined;
}

/** `Cannot open /x: it …`, from the fields of an error of the system. */
function withSubject(error: Error, sentence: string): string {
  const { syscall, path, input, address, port, hostname } = error as Error &
    Record<string, unknown>;
  const host = address ?? hostname;
  const place = port === undefined || host === undefined ? host : `${String(host)}:${String(port)}`;
  const subject = path ?? input ?? place;
  if (subject === undefined) return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
  const verb = typeof syscall === 'string' ? VERBS[syscall.split(' ')[0] ?? ''] : undefined;
  return `Cannot ${verb ?? 'use'} ${String(subject)}: ${sentence}`;
}

const VERBS: Readonly<Record<string, string>> = {
  open: 'open',
  scandir: 'read',
  stat: 'read',
  lstat: 'read',
  read: 'read',
  mkdir: 'create',
  rename: 'replace',
  write: 'write',
  unlink: 'remove',
  connect: 'connect to',
  getaddrinfo: 'find',
  listen: 'listen on',
  spawn: 'run',
};

/** Raw parts inside a message of ours: `ENOENT: no such file or directory, open 'x'`. */
function translateText(text: string): string {
  return (
    text
      .replace(
        /\b(E[A-Z]{3,}): [a-z][^,;\n]*(?:, [a-z]+(?: '[^'\n]*')?(?: -> '[^'\n]*')?)?/g,
        (raw, code: string) => SENTENCES[code] ?? raw,
      )
      // The code alone, behind a name.
      .replace(/: (E[A-Z]{3,})(?![\w:])/g, (raw, code: string) =>
        SENTENCES[code] === undefined ? raw : `: ${SENTENCES[code]}`,
      )
      .replace(/\berror:[0-9A-F]{8}:[^\n]*/g, (raw) => `OpenSSL says ${raw.split(':').at(-1)}`)
  );
}
