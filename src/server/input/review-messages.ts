/** Fields of reviews in protobuf (k8s.io/api `authorization/v1`, `authentication/v1`). */
import {
  ACCESS_REVIEW,
  type Kind,
  LOCAL_ACCESS_REVIEW,
  SELF_ACCESS_REVIEW,
  SELF_REVIEW,
  SELF_RULES_REVIEW,
  TOKEN_REVIEW,
} from '../../kinds/index.ts';
import type { MessageShape } from './protobuf-input.ts';

const ASKED: MessageShape = {
  1: [
    'resourceAttributes',
    {
      1: ['namespace'],
      2: ['verb'],
      3: ['group'],
      4: ['version'],
      5: ['resource'],
      6: ['subresource'],
      7: ['name'],
    },
  ],
  2: ['nonResourceAttributes', { 1: ['path'], 2: ['verb'] }],
};
const ASKED_OF_OTHERS: MessageShape = { ...ASKED, 3: ['user'], 4: ['groups', 'strings'] };

function withSpec(spec: MessageShape): MessageShape {
  return { 2: ['spec', spec] };
}

export const REVIEW_MESSAGES: ReadonlyMap<Kind, MessageShape> = new Map([
  [SELF_ACCESS_REVIEW, withSpec(ASKED)],
  [ACCESS_REVIEW, withSpec(ASKED_OF_OTHERS)],
  [LOCAL_ACCESS_REVIEW, withSpec(ASKED_OF_OTHERS)],
  [SELF_RULES_REVIEW, withSpec({ 1: ['namespace'] })],
  [SELF_REVIEW, {}],
  [TOKEN_REVIEW, withSpec({ 1: ['token'], 2: ['audiences', 'strings'] })],
]);
