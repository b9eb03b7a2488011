/** Public names of `notifications/`: other folders import this file alone. */
export { type Alert, Alerts, NOTIFICATION } from './alerts.ts';
export { sendMail } from './email.ts';
export { eventOf, type NotificationEvent, readEvent } from './event.ts';
export { sendToChat, sendWebhook } from './webhook.ts';
