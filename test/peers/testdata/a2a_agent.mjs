// An agent of the A2A SDK for Node, protocol 1.0. It does what a message says: see the words in execute.
//
//   node a2a_agent.mjs <folder of node_modules> [compat]
//
// It prints its address as its first line. With compat it also speaks 0.3. It recognizes no message that it has had before, and
// counts what it begins: GET /count.
import { createRequire } from 'node:module';

const [folder, mode] = process.argv.slice(2);
const require = createRequire(folder + '/');
const express = require('express');
const { TaskState, Role } = require('@a2a-js/sdk');
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = require('@a2a-js/sdk/server');
const { agentCardHandler, jsonRpcHandler, UserBuilder } = require('@a2a-js/sdk/server/express');
const compat = mode === 'compat';

const text = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' });
const data = (value) => ({ content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json' });
const message = (context, parts) => ({
  messageId: `m-${++messages}`, role: Role.ROLE_AGENT, parts, taskId: context.taskId, contextId: context.contextId,
  metadata: undefined, extensions: [], referenceTaskIds: [],
});

let messages = 0;
let begun = 0;
const canceled = [];
const holding = new Map();

class Scripted {
  async execute(context, bus) {
    const said = context.userMessage.parts.map((p) => (p.content?.$case === 'text' ? p.content.value : '')).join('');
    const become = (state, says) => bus.publish(AgentEvent.statusUpdate({
      taskId: context.taskId, contextId: context.contextId, metadata: undefined,
      status: { state, message: says ? message(context, [text(says)]) : undefined, timestamp: new Date().toISOString() },
    }));
    const artifact = (artifactId, parts, append, lastChunk) => bus.publish(AgentEvent.artifactUpdate({
      taskId: context.taskId, contextId: context.contextId, append, lastChunk, metadata: undefined,
      artifact: { artifactId, name: artifactId, description: '', parts, metadata: undefined, extensions: [] },
    }));
    const finish = (state, says) => { become(state, says); bus.finished(); };
    if (!context.task) begun++;
    if (said === 'say') {
      bus.publish(AgentEvent.message(message(context, [text('said at once')])));
      bus.finished();
      return;
    }
    bus.publish(AgentEvent.task(context.task ?? {
      id: context.taskId, contextId: context.contextId, artifacts: [], history: [context.userMessage], metadata: undefined,
      status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() },
    }));
    become(TaskState.TASK_STATE_WORKING, 'on it');
    switch (said) {
      case 'complete':
        artifact('poem', [text('Roses ')], false, false);
        artifact('poem', [text('are red.')], true, true);
        artifact('facts', [data({ lines: 1 })], false, true);
        return finish(TaskState.TASK_STATE_COMPLETED);
      case 'ask':
        return finish(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which color?');
      case 'auth':
        return finish(TaskState.TASK_STATE_AUTH_REQUIRED, 'Log in.');
      case 'fail':
        return finish(TaskState.TASK_STATE_FAILED, 'it broke');
      case 'reject':
        return finish(TaskState.TASK_STATE_REJECTED, 'not for me');
      case 'hold':
        await new Promise((resolve) => holding.set(context.taskId, resolve));
        if (canceled.includes(context.taskId)) return finish(TaskState.TASK_STATE_CANCELED);
        artifact('answer', [text('held')], false, true);
        return finish(TaskState.TASK_STATE_COMPLETED);
      default:
        artifact('answer', [text(`heard ${said}`)], false, true);
        return finish(TaskState.TASK_STATE_COMPLETED);
    }
  }

  async cancelTask(taskId, bus) {
    canceled.push(taskId);
    holding.get(taskId)?.();
  }
}

const app = express();
const server = app.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const face = (protocolVersion) => ({ url: `${url}/rpc`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion });
  const card = {
    name: 'node', description: 'Does what a message says.', version: '1', provider: undefined, documentationUrl: '', iconUrl: '',
    supportedInterfaces: compat ? [face('1.0'), face('0.3')] : [face('1.0')],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: {}, securityRequirements: [], defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
    skills: [], signatures: [],
  };
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Scripted());
  const legacyCompat = { enabled: compat };
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: handler, legacyCompat }));
  app.use('/rpc', jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication, legacyCompat }));
  app.get('/count', (_, response) => response.json({ begun, canceled: canceled.length }));
  app.post('/release', (_, response) => {
    for (const resolve of holding.values()) resolve();
    response.end();
  });
  console.log(url);
});
