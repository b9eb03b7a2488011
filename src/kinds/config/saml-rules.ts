/** Rules between the fields of a `saml` block (spec section 2.8.7). */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalidSecret,
  notSupported,
  required,
} from '../../apimachinery/index.ts';
import { NAME_ID_FORMATS, nameIdFormat } from './name-id-formats.ts';
import { CertificateError, certificateText, signingCertificates } from './signing-certificates.ts';

export interface Saml {
  readonly redirectURI?: string;
  readonly ssoURL?: string;
  readonly caData?: string;
  readonly ca?: string;
  readonly insecureSkipSignatureValidation?: boolean;
  readonly usernameAttr?: string;
  readonly emailAttr?: string;
  readonly groupsAttr?: string;
  readonly allowedGroups?: readonly string[];
  readonly filterGroups?: boolean;
  readonly nameIDPolicyFormat?: string;
}

export function samlProblems(saml: Saml, path: FieldPath): FieldError[] {
  const errors = (['ssoURL', 'redirectURI', 'usernameAttr', 'emailAttr'] as const)
    .filter((field) => !saml[field])
    .map((field) => required([...path, field]));
  errors.push(...trustProblems(saml, path));
  if (hasAny(saml.allowedGroups) && !saml.groupsAttr) {
    const detail = 'allowedGroups limits who may log in by an attribute; name the attribute';
    errors.push(required([...path, 'groupsAttr'], detail));
  }
  const format = saml.nameIDPolicyFormat;
  if (format && nameIdFormat(format) === undefined) {
    errors.push(notSupported([...path, 'nameIDPolicyFormat'], format, NAME_ID_FORMATS));
  }
  return errors;
}

/** Warnings about settings that work but are likely a mistake. */
export function samlWarnings(saml: Saml, at: string): string[] {
  const format = saml.nameIDPolicyFormat ?? '';
  const found: [boolean, string][] = [
    [
      saml.insecureSkipSignatureValidation === true,
      'insecureSkipSignatureValidation lets anyone log in as anyone',
    ],
    [
      saml.filterGroups === true && !hasAny(saml.allowedGroups),
      'filterGroups has no effect without allowedGroups',
    ],
    [format.endsWith('transient'), 'nameIDPolicyFormat gives each login a new user id'],
    [
      format.endsWith('encrypted'),
      'nameIDPolicyFormat asks for encrypted names, and there is no key to decrypt them',
    ],
  ];
  return found.filter(([isSo]) => isSo).map(([, warning]) => `${at}.${warning}`);
}

function trustProblems(saml: Saml, path: FieldPath): FieldError[] {
  const { ca, caData } = saml;
  const skips = saml.insecureSkipSignatureValidation === true;
  if (ca && caData) {
    return [forbidden([...path, 'ca'], 'caData is set as well; keep one of them')];
  }
  if (skips && (ca || caData)) {
    const detail = `${ca ? 'ca' : 'caData'} is set as well, and would be ignored; keep one of them`;
    return [forbidden([...path, 'insecureSkipSignatureValidation'], detail)];
  }
  if (!ca && !caData && !skips) {
    const detail = 'one of caData, ca and insecureSkipSignatureValidation must be set';
    return [required([...path, 'caData'], detail)];
  }
  const problem = caData ? certificateProblem(caData) : undefined;
  return problem === undefined ? [] : [invalidSecret([...path, 'caData'], problem)];
}

function certificateProblem(caData: string): string | undefined {
  try {
    signingCertificates(certificateText(caData));
    return undefined;
  } catch (error) {
    if (error instanceof CertificateError) return error.message;
    throw error;
  }
}

function hasAny(list: readonly string[] | undefined): boolean {
  return list !== undefined && list.length > 0;
}
