/** NameID formats of SAML (core 8.3). */

const URIS = [
  ...['emailAddress', 'unspecified', 'X509SubjectName', 'WindowsDomainQualifiedName'].map(
    (name) => `urn:oasis:names:tc:SAML:1.1:nameid-format:${name}`,
  ),
  ...['encrypted', 'entity', 'kerberos', 'persistent', 'transient'].map(
    (name) => `urn:oasis:names:tc:SAML:2.0:nameid-format:${name}`,
  ),
] as const;

export const NAME_ID_FORMATS: readonly string[] = URIS;

/** The URI of a format, given as URI or as its last part. Undefined: there is no such format. */
export function nameIdFormat(given: string): string | undefined {
  return URIS.find((uri) => uri === given || uri.split(':').at(-1) === given);
}
