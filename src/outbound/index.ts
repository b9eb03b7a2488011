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
