/** Tenants of providerD (spec 2.8.6) that stand for many. */

/** All personal accounts are in this one; `consumers` is another name of it. */
export const PERSONAL_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad';

const SHARED = new Set(['', 'common', 'consumers', 'organizations', PERSONAL_TENANT]);

/** Whether accounts of more than one organization, or of none, are let in; those have no groups that could be read. */
export function isSharedTenant(tenant: string): boolean {
  return SHARED.has(tenant.toLowerCase());
}
