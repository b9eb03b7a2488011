/** Signature of a commit: who signed it, and whether this daemon trusts the key. */
import type { JSX } from 'preact';
import type { CommitSignature } from '../../api/objects.ts';
import { Badge } from './parts.tsx';

export function Signature({ of }: { of: CommitSignature | undefined }): JSX.Element | null {
  if (of === undefined || of.state === 'unsigned') return null;
  if (of.state === 'trusted') return <Badge tone="good">signed by {of.signer}</Badge>;
  const isUnchecked = of.state === 'unchecked';
  return (
    <span title={of.message}>
      <Badge tone={isUnchecked ? 'plain' : 'alert'}>
        {isUnchecked ? 'signed, not checked' : 'signature not trusted'}
      </Badge>
      <span class="visually-hidden"> {of.message}</span>
    </span>
  );
}
