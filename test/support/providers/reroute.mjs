/**
 * Leads connections to public hosts to servers of a test: `node --import reroute.mjs`, with the table
 * in TEST_ROUTES (host to port on the loopback). The daemon itself cannot be told other hosts.
 */
import { syncBuiltinESMExports } from 'node:module';
import tls from 'node:tls';

const routes = JSON.parse(process.env.TEST_ROUTES ?? '{}');
const { connect } = tls;

tls.connect = (options, ...rest) => {
  const port = routes[options?.host ?? options?.hostname];
  if (port === undefined) return connect(options, ...rest);
  const servername = options.servername || options.host || options.hostname;
  return connect({ ...options, servername, host: '127.0.0.1', port, lookup: undefined }, ...rest);
};
syncBuiltinESMExports();
