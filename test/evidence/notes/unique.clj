; Reads a history from the standard input, as Jepsen keeps one: maps in EDN, one after the other.
; Prints counts with the names and meaning of those of Jepsen's checker unique-ids, and fails if
; an id was returned more than once.

(require '[clojure.edn :as edn])

(defn step
  "The state after one more operation.  The history must be whole: indices ascend by one, and a
  process ends what it began before it begins something else."
  [{:keys [index busy] :as state} {:keys [type f value process] :as op}]
  (when-not (and (= f :generate)
                 (= index (:index op))
                 (= (contains? busy process) (= type :ok)))
    (throw (ex-info "This operation is not possible here" op)))
  (let [state (assoc state :index (inc index))]
    (if (= type :invoke)
      (assoc state :busy (conj busy process))
      (assoc state
             :busy (disj busy process)
             :times (assoc! (:times state) value (inc (get (:times state) value 0)))))))

(let [in       (java.io.PushbackReader. (java.io.BufferedReader. *in*))
      end      (reduce step
                       {:index 0 :busy #{} :times (transient {})}
                       (take-while some? (repeatedly #(edn/read {:eof nil} in))))
      times    (persistent! (:times end))
      repeated (into (sorted-map) (filter #(< 1 (val %)) times))]
  (prn {:valid?             (empty? repeated)
        :attempted-count    (/ (+ (:index end) (count (:busy end))) 2)
        :acknowledged-count (reduce + (vals times))
        :duplicated-count   (count repeated)
        :duplicated         (into (sorted-map) (take 3 repeated))})
  (System/exit (if (empty? repeated) 0 1)))
