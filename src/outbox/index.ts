/** Public names of `outbox/`: other folders import this file alone. */
export { assertAccepted, type Delivery, DeliveryError, type NewDelivery } from './delivery.ts';
export { Outbox } from './outbox.ts';
