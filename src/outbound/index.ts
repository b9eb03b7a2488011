/** Public names of `outbound/`: other folders import this file alone. */
export {
  AddressRefusedError,
  allowAddresses,
  guardedLookup,
  isLoopback,
  isSubnet,
  refuseAddress,
  refuseLoopback,
  remoteLookup,
} from './address-guard.ts';
export { AnswerBody, hintLimit, limitHints } from './answer-limits.ts';
export {
  HttpClient,
  type HttpRequest,
  UnreachableError,
} from './http-client.ts';
