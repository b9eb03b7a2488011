/** Namespaces of SAML 2.0 and of XML signatures. */
export const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
export const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
export const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';
