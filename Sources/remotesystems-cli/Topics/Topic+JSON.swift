// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension Topic {
    static let jsonText = """
        With --json, every line on standard output is one JSON object. Its 'event' names
        the kind of object. 'time' is RFC 3339 in UTC. Fields that do not apply are
        omitted. Later versions may add events and fields.

          event                  from           further fields
          added updated removed  watch          a system, below
          system                 list info      a system, below
          application            apps           id name isRunning attributes services
                                                schemes connectionToken
          summary                apps           applications
          service                call           a service, below; application systemID
                                                (with --describe)
          answer                 call           status message reason canRetry
          request                call           service message (with --listen)
          enumeration-completed  watch list     systems excluded
          error                  watch list     code message recoversByItself
          connected              ping           name address systemID size
          reply                  ping           sequence microseconds
          lost                   ping           sequence status message
          summary                ping           sent answered lost
                                                microseconds (min median p99 max)
          launch                 launch         name systemID status statusNumber
                                                opened application message side
                                                canRetry
          ready                  serve          port service systemID accountID
                                                otherAccountPort clientSystemID
                                                directory (the last three with
                                                --conformance)
          ready                  host run       port systemID accountID
          reloaded               host run       port applications problems
                                                needsRestart
          stopped                serve host run kept broken neverExercised
                                                (with serve --conformance)
          broken                 serve          rule code section connection seen
                                                expected (with --conformance)
          application            host check     id name services schemes
          problem warning        host check     file line message
          wrote would-write      host install   file text
                                 activities
                                 browser
          removed would-remove   host uninstall file
                                 activities
                                 browser
          encoded                values encode  format data bytes
          decoded                values decode  value bytes
          account                account show   accountID systemID isAuthority lacksKey
                                                certificateBegins certificateEnds
                                                renewal joined revoked directory
                                                refusedAsRevoked refusedBy
                                                rootKeyReplaced formerlyRevoked
          account-system         account        id name lastMet certificateEnd isRevoked
                                 systems        isLocal mustJoinAgain wasRevoked
          renamed                account rename name
          rotated                account        accountID retirement stolen
                                 rotate-root-   formerlyRevoked linksUnreadable
                                 key
          invitation             account invite uri accountID addresses expires
          joined                 account invite systemID
          withdrawn              account invite -
          joined                 account join   accountID systemID isAuthority setAside
                                 pair           endedLinks (not of pair)
          waiting                pair           addresses port
          compare                pair           digits name effect endsLinks
          admitted               pair           systemID
          stopped                pair           -
          imported               account import accountID systemID isAuthority setAside
                                                endedLinks
          revoked                account revoke systemID notified
          left                   account leave  accountID systemID heldRootKey setAside
          exported               account export accountID file
          link granted unlinked  account links  accountID name state created
                                 grant unlink   granted received (each services
                                                schemes topics end)
          linked                 pair           accountID name state created
                                                granted received
          finding                doctor list    code status what why advice
                                 watch
                                 account show
                                 systems links
          summary                doctor         problems warnings
          activity               activities     an offer, below
                                 list current
          offered changed        activities     an offer, below
          withdrawn              watch
          offering               activities     id isPermitted
                                 offer
          continued              activities     systemID application (of the receiver)
                                 offer
          continuing             activities     an offer, below (before it begins)
                                 continue
          continued              activities     id application
                                 continue       reasons (not of notify)
                                 notify
          notifying              activities     problem
                                 notify
          content                activities     type title content webpage version
                                 continue       target (with --print)
          progress               activities     id step seconds (after 2 s)
                                 continue
          player                 activities     name identity isPlaying title reason
                                 players        isOn
          condition              activities     condition isMet message advice
                                 why-not
          settings               activities     application sending receiving
                                 settings
          developer-mode         activities     setting isOn publishers
                                 settings
          key                    app keygen     publisher number file encrypted
          wrote valid signed     app            application file publisher
          registered
          verified refused       app verify     application file publisher message
          problem warning        app            file line message
          step                   association    host isMet message code application
                                 verify
          signed                 association    file bytes applications hosts
                                 sign
          association            association    host application isApproved code
                                 show           message checked expires
          association-settings   association    authorities privateSites
                                 settings
          delivery               notify         systemID system status reason error
                                                canRetry
          answer                 notify         action text systemID system
                                                activationToken
          unanswered             notify         reason
          notification           notifications  a notification, below
                                 list
          delivered read         notifications  a notification, below
          snoozed answered       watch
          dismissed withdrawn
          expired
          answered               notifications  key id action text
                                 answer
          dismissed              notifications  count
                                 dismiss
          opened                 notifications  key id
                                 open
          snoozed                notifications  key id snoozedUntil
                                 snooze
          read                   notifications  count
                                 read
          scheduled              notifications  id date
                                 schedule
          pending                notifications  id date application title subtitle body
                                 pending        repeats region (latitude longitude
                                                radius notifiesOnEntry notifiesOnExit)
                                                sender attachments
          cancelled              notifications  count
                                 cancel
          history                notifications  a notification, below; end ended
                                 history        action
          deleted                notifications  -
                                 history outbox
          posted                 notifications  id title body attachments application
                                 outbox         systemID system date expires isWaiting
                                                problem
          permission             notifications  permission systemID system application
                                 permit         perHour
          refused                notifications  systemID application denied limited
                                 permit         tooFast
          topic                  topic          topic text
          failed                 all            error reason message side canRetry
                                                byteOffset keyPath systemIDs
                                                id type systemID system

        A system has id, name, kind, status, platform, discovery, authorization,
        isLocal, capabilities, manufacturer, model, accountID and accountName (of a
        linked account only), and applications, each with id, name, attributes and
        services.

        A service has name, version, summary, supportsRemote, requestSchema,
        responseSchema, pushRequestSchema and pushResponseSchema.

        An offer has id, type, title, systemID, system, accountID and accountName (of a
        linked account only), application, streams, webpage, version, target, expires,
        publisher and proof.

        A notification has key, id, title, subtitle, body, application, sender,
        systemID, system, isShown, isRead, snoozedUntil, thread, relevance, target,
        filter, arrived, actions, each with id, title and takesText, and attachments,
        each with id, type, bytes, path and isDamaged.

        Values in messages keep their types: {"$date": 1.5}, {"$uuid": "…"},
        {"$data": "base64"}, {"$url": "…"}, {"$set": […]}, {"$double": 1}. A key that
        begins with $ is written with one more $. Without --json, 'call' prints values
        without tags.

        'failed' reports why a subcommand failed: 'error' is the kind of failure
        (unreachable, notTrusted, identity, misuse, misconfigured, …), 'reason'
        the code of the underlying error, 'message' a sentence, 'side' the place of the
        failure (local, network, remote), and 'canRetry' whether a retry may succeed.
        With the reason ambiguousName, 'systemIDs' are the systems that match the name;
        with nameChanged, the system that the name meant before, then those that have
        it now. 'keyPath' is the field that is not valid. Of 'activities notify', 'id',
        'type', 'systemID' and 'system' name the offer that was not continued; the
        subcommand goes on, as 'pair' does that waits for the next attempt.
        """
}
