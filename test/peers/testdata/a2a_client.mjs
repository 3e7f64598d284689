// A client of the A2A SDK for Node, protocol 1.0 with its layer for 0.3. It does one call and prints what came of it.
//
//   node a2a_client.mjs <folder of node_modules> <address of the card's host> <path of the card> <call> <parameters as JSON> [header value]...
//
// The first line is {"version": …}, the protocol that was agreed on. Each further line is a result, an event, or an error.
import { createRequire } from 'node:module';

const [folder, host, path, call, parameters, ...headers] = process.argv.slice(2);
const require = createRequire(folder + '/');
const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } = require('@a2a-js/sdk/client');
const { Role, TaskState } = require('@a2a-js/sdk');

const say = (value) => process.stdout.write(JSON.stringify(value) + '\n');
const legacyCompat = { enabled: true };
const part = (content) => ({ content, metadata: undefined, filename: '', mediaType: '' });

// messages are given as {id, taskId, contextId, text, data}
const message = ({ id, taskId, contextId, text, data }) => ({
  messageId: id, role: Role.ROLE_USER, taskId: taskId ?? '', contextId: contextId ?? '', extensions: [], referenceTaskIds: [], metadata: undefined,
  parts: [text === undefined ? undefined : part({ $case: 'text', value: text }), data === undefined ? undefined : part({ $case: 'data', value: data })].filter(Boolean),
});
const request = (given) => ({
  tenant: '', message: message(given), metadata: undefined,
  configuration: { acceptedOutputModes: [], returnImmediately: given.wait !== true, historyLength: given.history, taskPushNotificationConfig: given.push },
});

const partText = (p) => p.content?.$case === 'text' ? p.content.value : JSON.stringify(p.content?.value ?? null);
const status = (s) => ({ state: TaskState[s.state], says: s.message?.parts.map(partText) });
const task = (t) => ({
  kind: 'task', id: t.id, contextId: t.contextId, ...status(t.status),
  artifacts: t.artifacts.map((a) => ({ id: a.artifactId, parts: a.parts.map(partText) })), history: t.history.map((m) => m.parts.map(partText).join()),
});
const event = (e) => {
  const { $case, value } = e.payload;
  switch ($case) {
    case 'task': return task(value);
    case 'statusUpdate': return { kind: 'status', ...status(value.status), sequence: value.metadata?.['pawl.sequence'] };
    case 'artifactUpdate': return { kind: 'artifact', id: value.artifact.artifactId, append: value.append, last: value.lastChunk, parts: value.artifact.parts.map(partText) };
    default: return { kind: $case };
  }
};

const given = JSON.parse(parameters);
const options = { serviceParameters: {} };
for (let i = 0; i + 1 < headers.length; i += 2) options.serviceParameters[headers[i]] = headers[i + 1];
const withHeaders = (url, init) => fetch(url, { ...init, headers: { ...init?.headers, ...options.serviceParameters } });
try {
  const client = await new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl: withHeaders, legacyCompat })],
    cardResolver: new DefaultAgentCardResolver({ legacyCompat }),
  }).createFromUrl(host, path);
  say({ version: client.protocolVersion });
  const calls = {
    card: async () => say({ name: client.agentCard.name, push: client.agentCard.capabilities.pushNotifications, streaming: client.agentCard.capabilities.streaming }),
    send: async () => say(task(await client.sendMessage(request(given), options))),
    stream: async () => { for await (const e of client.sendMessageStream(request(given), options)) say(event(e)); },
    get: async () => say(task(await client.getTask({ tenant: '', id: given.id, historyLength: given.history }, options))),
    cancel: async () => say(task(await client.cancelTask({ tenant: '', id: given.id, metadata: undefined }, options))),
    resubscribe: async () => { for await (const e of client.resubscribeTask({ tenant: '', id: given.id }, options)) say(event(e)); },
    setPush: async () => say(await client.createTaskPushNotificationConfig({ tenant: '', ...given }, options)),
    getPush: async () => say(await client.getTaskPushNotificationConfig({ tenant: '', ...given }, options)),
    listPush: async () => say(await client.listTaskPushNotificationConfig({ tenant: '', pageSize: 0, pageToken: '', ...given }, options)),
    deletePush: async () => { await client.deleteTaskPushNotificationConfig({ tenant: '', ...given }, options); say({ deleted: true }); },
  };
  await calls[call]();
} catch (e) {
  say({ error: e.cause?.name?.startsWith('JsonRpc') || e.cause?.name?.endsWith('Error') ? e.cause.name : e.name, says: e.message });
}
