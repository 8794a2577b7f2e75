"""Words that all domains share, with one translation everywhere."""

from jaxsmt.demo.words import adjectives, nouns, phrases, verbs

NOUNS = nouns({
    "person": """
        m directeur = director; m voisin = neighbour; m ami = friend; f amie = friend
        f femme = woman/women; m homme = man/men; m enfant = child/children; m visiteur = visitor
        f directrice = director; f voisine = neighbour; m étudiant = student; f étudiante = student
        m étranger = foreigner; m responsable = supervisor; f responsable = supervisor
    """,
    "thing": """
        m sac = bag; m livre = book; f lampe = lamp; f chaise = chair; f porte = door; f photo = photo
        f lettre = letter; f affiche = poster; m cahier = notebook; m stylo = pen; f horloge = clock
        m téléphone = telephone; f étiquette = label; m objet = object; f machine = machine; m outil = tool
    """,
    "idea": """
        f question = question; f réponse = answer; m problème = problem; m numéro = number; f idée = idea
        m exemple = example; f raison = reason; f règle = rule; f solution = solution; m résultat = result
        f explication = explanation; m projet = project; m changement = change
    """,
})  # fmt: skip

ADJECTIVES = adjectives({
    "thing widget device utensil dish vehicle place gear": """
        <petit = small; <grand = large; <nouveau/nouvelle = new; <vieux/vieille = old; <beau/belle = beautiful
        <gros/grosse = big; <joli = pretty
    """,
    "any idea person": "<autre = other; <premier = first; <dernier/dernière = last",
    "any idea": "<bon = good; <mauvais = bad; étrange = strange; parfait = perfect; important = important",
    "thing utensil gear": "rouge = red; bleu = blue; vert = green; blanc = white; noir = black; jaune = yellow",
    "utensil vehicle place": "propre = clean; sale = dirty; magnifique = magnificent",
    "thing device gear utensil": "cassé = broken; cher/chère = expensive; solide = sturdy; moderne = modern",
    "idea": "simple = simple; difficile = difficult; utile = useful; différent = different; clair = clear",
    "person": """
        <jeune = young; <vieux/vieille = old; fatigué = tired; content = happy; patient = patient; poli = polite
        prudent = careful; curieux = curious; pressé/pressée = hurried; <nouveau/nouvelle = new
    """,
})  # fmt: skip

TRANSITIVE = verbs("""
    voir = see : any person; *chercher = look for : any idea person; trouver = find : any idea person
    *regarder = look at : any person; choisir = choose : any; oublier = forget : any idea; vérifier = check : any
    changer = change : thing data widget structure gear idea; utiliser = use : thing utensil device gear data
    acheter = buy : thing utensil gear food
    perdre = lose : thing utensil gear data; garder = keep : thing utensil gear data
    remplacer = replace : thing data widget structure gear utensil device engine
    préparer = prepare : data dish food gear luggage; décrire = describe : any idea person
    connaître = know : any person
    *attendre = wait for : thing event vehicle person dish idea; préférer = prefer : any
    reconnaître = recognise : any person
    examiner = examine : any; refuser = refuse : thing idea dish; dessiner = draw : thing widget place
    comprendre = understand : idea; photographier = photograph : place ship person dish
    *demander = ask for : thing data paper dish utensil gear; prendre = take : thing utensil gear
    aider = help : person; remercier = thank : person
    appeler = call : person; *recevoir = receive : data idea paper luggage; accepter = accept : idea thing
""")  # fmt: skip

INTRANSITIVE = verbs("""
    attendre = wait : person; travailler = work : person; arriver = arrive : person; répondre = answer : person
    revenir = come back : person; sortir = go out : person; hésiter = hesitate : person
""", is_transitive=False)  # fmt: skip

DITRANSITIVE = verbs("""
    donner = give : thing data food utensil gear; montrer = show : any; apporter = bring : thing utensil gear food
    envoyer = send : thing data idea; vendre = sell : thing utensil gear dish; prêter = lend : thing utensil gear
    offrir = offer : thing dish gear; décrire = describe : any; expliquer = explain : idea
""")  # fmt: skip
TAKES_TO = {"describe", "explain"}  # explain it to him, never explain him it

# mid-sentence adverbs; they stand after the French verb and before the English one
FREQUENCY = phrases("toujours = always; souvent = often; rarement = rarely; parfois = sometimes")
MANNER = phrases("rapidement = quickly; soigneusement = carefully; lentement = slowly; facilement = easily")

TIMES = {
    "present": phrases("""
        aujourd'hui = today; chaque jour = every day; le matin = in the morning
        chaque semaine = every week; chaque matin = every morning; le lundi = every Monday
    """),
    "past": phrases("""
        hier = yesterday; ce matin = this morning; hier soir = yesterday evening; la semaine dernière = last week
        il y a deux jours = two days ago; le mois dernier = last month; avant midi = before noon
    """),
    "future": phrases("""
        demain = tomorrow; ce soir = this evening; bientôt = soon; la semaine prochaine = next week
        dans une heure = in an hour; lundi prochain = next Monday; après la réunion = after the meeting
    """),
}  # fmt: skip
OPENERS = phrases("""
    en général = in general; malheureusement = unfortunately; d'habitude = usually; parfois = sometimes
    heureusement = fortunately; à mon avis = in my opinion; d'abord = first; ensuite = then; enfin = finally
""")  # fmt: skip
NUMBERS = phrases("""
    deux = two; trois = three; quatre = four; cinq = five; six = six; sept = seven; huit = eight; dix = ten
    douze = twelve; quinze = fifteen; vingt = twenty; trente = thirty; quarante = forty
""")  # fmt: skip
NAMES = (("Marie", "f"), ("Paul", "m"), ("Claire", "f"), ("Julien", "m"), ("Nadia", "f"), ("Hugo", "m"),
         ("Sophie", "f"), ("Karim", "m"), ("Lucie", "f"), ("Thomas", "m"))  # fmt: skip
CITIES = phrases("""
    Marseille = Marseille; Londres = London; Brest = Brest; Lisbonne = Lisbon; Gênes = Genoa; Douvres = Dover
    Calais = Calais; Barcelone = Barcelona; Bruxelles = Brussels; Anvers = Antwerp; Vienne = Vienna
""")  # fmt: skip

# adjectives (English) that have degrees: very old, older
GRADABLE = frozenset({
    "small", "large", "old", "beautiful", "big", "pretty", "good", "bad", "strange",
    "important", "clean", "dirty", "expensive", "sturdy", "modern", "simple", "difficult", "useful",
    "different", "clear", "young", "tired", "happy", "patient", "polite", "careful", "curious",
    "fast", "slow", "reliable", "wide", "serious", "frequent", "delicious", "hot", "cold",
    "sweet", "salty", "spicy", "light", "bitter", "fatty", "tender", "ripe", "juicy",
    "crusty", "sharp", "deep", "thick", "smooth", "quiet", "noisy", "comfortable", "crowded",
    "violent", "calm", "heavy", "fragile", "bulky", "rusty", "wet", "long", "narrow",
    "distant", "famous", "powerful", "pleasant", "dangerous", "cool", "lightweight", "fresh", "stable",
    "sunny", "favourable", "recent",
})  # fmt: skip
